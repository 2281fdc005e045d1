"""The languages that can be read: their grammars, and what in them defines a name or uses one.

Every grammar is an installed wheel; nothing is fetched. One that is missing, or whose nodes have other names
than here, leaves its language unread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Parser, Query


@dataclass(frozen=True, kw_only=True, slots=True)
class Language:
    """A grammar; `definitions` is a query that captures names as @def, `references` are kinds of leaves."""

    name: str
    package: str
    extensions: tuple[str, ...]
    definitions: str
    references: tuple[str, ...] = ("identifier",)
    function: str = "language"  # of the package, that gives the grammar


def _named(kinds: str, name: str = "identifier") -> str:
    """A query for nodes of these kinds with a field `name` of that kind."""
    return " ".join(f"({kind} name: ({name}) @def)" for kind in kinds.split())


_SCRIPT = (
    _named("function_declaration generator_function_declaration")
    + _named("method_definition", "property_identifier")
    + "(program (lexical_declaration (variable_declarator name: (identifier) @def)))"
    + "(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @def))))"
    + "(assignment_expression left: (member_expression property: (property_identifier) @def)"
    " right: [(function_expression) (arrow_function)])"
)
_TYPED = (
    _SCRIPT
    + _named(
        "class_declaration abstract_class_declaration interface_declaration type_alias_declaration",
        "type_identifier",
    )
    + _named("enum_declaration function_signature")
    + _named("method_signature abstract_method_signature", "property_identifier")
)
_C = (
    "(function_declarator declarator: (identifier) @def)"
    "(struct_specifier name: (type_identifier) @def body: (_))"
    "(union_specifier name: (type_identifier) @def body: (_))"
    "(enum_specifier name: (type_identifier) @def body: (_))"
    "(type_definition declarator: (type_identifier) @def)"
    "(preproc_def name: (identifier) @def) (preproc_function_def name: (identifier) @def)"
)
_NAMES = ("identifier", "property_identifier")
_TYPES = ("identifier", "type_identifier", "field_identifier")

LANGUAGES: tuple[Language, ...] = (
    Language(
        name="python",
        package="tree_sitter_python",
        extensions=("py", "pyi"),
        definitions=_named("function_definition class_definition")
        + "(module (expression_statement (assignment left: (identifier) @def)))",
    ),
    Language(
        name="javascript",
        package="tree_sitter_javascript",
        extensions=("js", "jsx", "mjs", "cjs"),
        definitions=_SCRIPT + _named("class_declaration"),
        references=_NAMES,
    ),
    Language(
        name="typescript",
        package="tree_sitter_typescript",
        extensions=("ts", "mts", "cts"),
        definitions=_TYPED,
        references=(*_NAMES, "type_identifier"),
        function="language_typescript",
    ),
    Language(
        name="tsx",
        package="tree_sitter_typescript",
        extensions=("tsx",),
        definitions=_TYPED,
        references=(*_NAMES, "type_identifier"),
        function="language_tsx",
    ),
    Language(
        name="go",
        package="tree_sitter_go",
        extensions=("go",),
        definitions=_named("function_declaration")
        + _named("method_declaration", "field_identifier")
        + _named("type_spec", "type_identifier")
        + "(source_file (const_declaration (const_spec name: (identifier) @def)))"
        + "(source_file (var_declaration (var_spec name: (identifier) @def)))",
        references=_TYPES,
    ),
    Language(
        name="rust",
        package="tree_sitter_rust",
        extensions=("rs",),
        definitions=_named("function_item function_signature_item mod_item macro_definition const_item")
        + _named("struct_item enum_item union_item trait_item type_item", "type_identifier"),
        references=_TYPES,
    ),
    Language(
        name="java",
        package="tree_sitter_java",
        extensions=("java",),
        definitions=_named(
            "class_declaration interface_declaration enum_declaration record_declaration method_declaration"
        ),
        references=("identifier", "type_identifier"),
    ),
    Language(name="c", package="tree_sitter_c", extensions=("c",), definitions=_C, references=_TYPES),
    Language(
        name="cpp",
        package="tree_sitter_cpp",
        extensions=("cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "cu"),
        definitions=_C
        + "(function_declarator declarator: (field_identifier) @def)"
        + "(function_declarator declarator: (qualified_identifier name: (identifier) @def))"
        + "(class_specifier name: (type_identifier) @def body: (_))"
        + _named("namespace_definition", "namespace_identifier"),
        references=(*_TYPES, "namespace_identifier"),
    ),
    Language(
        name="c-sharp",
        package="tree_sitter_c_sharp",
        extensions=("cs",),
        definitions=_named(
            "class_declaration interface_declaration struct_declaration enum_declaration record_declaration "
            "delegate_declaration method_declaration property_declaration"
        ),
    ),
    Language(
        name="bash",
        package="tree_sitter_bash",
        extensions=("sh", "bash"),
        definitions=_named("function_definition", "word"),
        references=("command_name",),
    ),
    Language(
        name="ruby",
        package="tree_sitter_ruby",
        extensions=("rb", "rake"),
        definitions=_named("method singleton_method") + _named("class module", "constant"),
        references=("identifier", "constant"),
    ),
    Language(
        name="php",
        package="tree_sitter_php",
        extensions=("php",),
        definitions=_named(
            "function_definition method_declaration class_declaration interface_declaration "
            "trait_declaration enum_declaration",
            "name",
        ),
        references=("name",),
        function="language_php",
    ),
    Language(
        name="lua",
        package="tree_sitter_lua",
        extensions=("lua",),
        definitions=_named("function_declaration")
        + "(function_declaration name: (dot_index_expression field: (identifier) @def))"
        + "(function_declaration name: (method_index_expression method: (identifier) @def))",
    ),
    Language(
        name="kotlin",
        package="tree_sitter_kotlin",
        extensions=("kt", "kts"),
        definitions=_named("function_declaration class_declaration object_declaration"),
    ),
    Language(
        name="elixir",
        package="tree_sitter_elixir",
        extensions=("ex", "exs"),
        definitions='((call target: (identifier) @_word (arguments (alias) @def)) (#eq? @_word "defmodule"))'
        "((call target: (identifier) @_word (arguments [(identifier) @def (call target: (identifier) @def)"
        " (binary_operator left: (call target: (identifier) @def))]))"
        ' (#any-of? @_word "def" "defp" "defmacro" "defmacrop"))',
        references=("identifier", "alias"),
    ),
    Language(
        name="zig",
        package="tree_sitter_zig",
        extensions=("zig",),
        definitions=_named("function_declaration") + "(source_file (variable_declaration (identifier) @def))",
    ),
)

_BY_EXTENSION: Mapping[str, Language] = MappingProxyType(
    {extension: language for language in LANGUAGES for extension in language.extensions}
)


def language_of(path: str) -> Language | None:
    """The language that a file's extension names, if it is one that can be read. Pure."""
    name = path.rpartition("/")[2]
    return _BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reader:
    """What reads one language: a parser, and the query for definitions (@def) and references (@ref)."""

    parser: Parser
    query: Query


@cache
def reader(language: Language) -> Reader | None:
    """The reader of a language; None where its grammar is not installed or is another one."""
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query, QueryError

    try:
        package: Any = import_module(language.package)
        grammar = Grammar(getattr(package, language.function)())
        references = " ".join(f"({kind}) @ref" for kind in language.references)
        return Reader(parser=Parser(grammar), query=Query(grammar, f"{language.definitions} {references}"))
    except (ImportError, AttributeError, ValueError, QueryError):
        return None
