"""Python: its table, and when two pieces of Python source mean the same."""

from __future__ import annotations

import ast
import builtins
import warnings
from typing import ClassVar

from tree_sitter import Language

from acr_cli.repair import python_imports
from acr_cli.repair import python_words as words
from acr_cli.repair.language import LanguageTable


def _grammar() -> Language:
    import tree_sitter_python

    return Language(tree_sitter_python.language())


class _Normal(ast.NodeTransformer):
    """Rewrites that keep the meaning: one form for negated and mirrored comparisons, `x += 1`."""

    INVERSE: ClassVar[dict[type[ast.cmpop], type[ast.cmpop]]] = {
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
    }
    MIRROR: ClassVar[dict[type[ast.cmpop], type[ast.cmpop]]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        inner = node.operand
        if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            inverse = self.INVERSE.get(type(inner.ops[0]))
            if inverse is not None:
                return ast.Compare(inner.left, [inverse()], inner.comparators)
        if (
            isinstance(node.op, ast.USub)
            and isinstance(inner, ast.Constant)
            and type(inner.value) in (int, float)
        ):
            return ast.Constant(-inner.value)  # type: ignore[operator]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        right = node.right
        if isinstance(right, ast.Constant) and type(right.value) is int:
            if isinstance(node.op, ast.Sub):
                return ast.BinOp(node.left, ast.Add(), ast.Constant(-right.value))
            if right.value == 1 and isinstance(node.op, ast.Mult):
                return node.left
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            mirror = self.MIRROR.get(type(node.ops[0]))
            if mirror is not None:
                return ast.Compare(node.comparators[0], [mirror()], [node.left])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant):
            value = self.visit(ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
            return ast.Assign([ast.Name(node.target.id, ast.Store())], value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            return ast.Return(None)
        return node


def normalise(source: bytes) -> str | None:
    """A key of what statements mean: equal keys, equal programs. None when they do not compile. Pure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
            compile(tree, "<candidate>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        return ast.dump(_Normal().visit(tree))


def _methods(kind: type) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if not name.startswith("_"))


_EXPRESSIONS = frozenset(
    [
        "binary_operator",
        "boolean_operator",
        "comparison_operator",
        "not_operator",
        "unary_operator",
        "call",
        "attribute",
        "subscript",
        "identifier",
        "integer",
        "float",
        "string",
        "concatenated_string",
        "true",
        "false",
        "none",
        "list",
        "tuple",
        "dictionary",
        "set",
        "list_comprehension",
        "dictionary_comprehension",
        "set_comprehension",
        "generator_expression",
        "conditional_expression",
        "parenthesized_expression",
        "lambda",
        "await",
    ]
)
_SIMPLE = frozenset(
    [
        "expression_statement",
        "return_statement",
        "raise_statement",
        "break_statement",
        "continue_statement",
        "pass_statement",
        "assert_statement",
        "delete_statement",
        "global_statement",
        "nonlocal_statement",
        "import_statement",
        "import_from_statement",
        "future_import_statement",
    ]
)
_COMPOUND = frozenset(
    [
        "if_statement",
        "for_statement",
        "while_statement",
        "try_statement",
        "with_statement",
        "match_statement",
        "function_definition",
        "class_definition",
        "decorated_definition",
    ]
)

PYTHON = LanguageTable(
    name="python",
    extensions=(".py",),
    grammar=_grammar,
    normalise=normalise,
    module="module",
    functions=frozenset({"function_definition"}),
    classes=frozenset({"class_definition"}),
    decorated=frozenset({"decorated_definition"}),
    decorators=frozenset({"decorator"}),
    blocks=frozenset({"block"}),
    statements=_SIMPLE | _COMPOUND,
    simple_statements=_SIMPLE,
    clauses=frozenset({"elif_clause", "else_clause", "except_clause", "finally_clause", "case_clause"}),
    conditionals=frozenset({"if_statement", "elif_clause", "while_statement"}),
    loops=frozenset({"for_statement", "while_statement"}),
    returns=frozenset({"return_statement"}),
    raises=frozenset({"raise_statement"}),
    handlers=frozenset({"except_clause"}),
    assignments=frozenset({"assignment"}),
    augmented=frozenset({"augmented_assignment"}),
    expression_statements=frozenset({"expression_statement"}),
    jumps=frozenset({"break_statement", "continue_statement", "pass_statement"}),
    imports=frozenset({"import_statement", "import_from_statement"}),
    binary=frozenset({"binary_operator"}),
    boolean=frozenset({"boolean_operator"}),
    comparison=frozenset({"comparison_operator"}),
    negation=frozenset({"not_operator"}),
    unary=frozenset({"unary_operator"}),
    ternary=frozenset({"conditional_expression"}),
    calls=frozenset({"call"}),
    arguments=frozenset({"argument_list"}),
    keyword_arguments=frozenset({"keyword_argument"}),
    attributes=frozenset({"attribute"}),
    subscripts=frozenset({"subscript"}),
    slices=frozenset({"slice"}),
    identifiers=frozenset({"identifier"}),
    integers=frozenset({"integer"}),
    floats=frozenset({"float"}),
    strings=frozenset({"string"}),
    truths=frozenset({"true", "false"}),
    nothing=frozenset({"none"}),
    sequences=frozenset({"list", "tuple", "expression_list", "pattern_list"}),
    pairs=frozenset({"pair"}),
    comprehensions=frozenset(
        {"list_comprehension", "dictionary_comprehension", "set_comprehension", "generator_expression"}
    ),
    parenthesised=frozenset({"parenthesized_expression"}),
    default_parameters=frozenset({"default_parameter", "typed_default_parameter"}),
    yields=frozenset({"yield"}),
    expressions=_EXPRESSIONS,
    comparison_exchange=words.COMPARE,
    binary_exchange=words.BINARY,
    augmented_exchange=words.AUGMENTED,
    boolean_exchange={"and": "or", "or": "and"},
    method_exchange=words.METHODS,
    function_exchange=words.FUNCTIONS,
    exception_types=(
        "Exception",
        "ValueError",
        "KeyError",
        "IndexError",
        "TypeError",
        "AttributeError",
        "LookupError",
        "ZeroDivisionError",
        "ArithmeticError",
        "StopIteration",
        "OSError",
        "FileNotFoundError",
        "RuntimeError",
        "NotImplementedError",
        "UnicodeDecodeError",
        "ImportError",
        "OverflowError",
        "AssertionError",
        "PermissionError",
        "TimeoutError",
    ),
    mutable_literals={"[]": "[]", "{}": "{}", "set()": "set()", "list()": "list()", "dict()": "dict()"},
    true="True",
    false="False",
    none="None",
    negated="not {x}",
    both="{x} and {y}",
    either="{x} or {y}",
    is_none="{x} is None",
    is_not_none="{x} is not None",
    guard="if {condition}:\n{indent}{unit}{action}\n{indent}",
    wrappers={
        "str": words.TEXT,
        "int": words.NUMBER,
        "float": words.NUMBER,
        "list": words.LIST,
        "tuple": words.LIST,
        "set": words.LIST,
        "dict": words.DICT,
        "": words.ANY,
    },
    empties={
        "str": '""',
        "int": "0",
        "float": "0.0",
        "list": "[]",
        "dict": "{}",
        "set": "set()",
        "tuple": "()",
        "bool": "False",
        "NoneType": "None",
    },
    receiver="self",
    builtins=frozenset(name for name in dir(builtins) if not name.startswith("_")),
    missing_imports=python_imports.missing,
    no_operation="pass",
    super_call="super().__init__({arguments})",
    types={
        kind.__name__: _methods(kind) for kind in (str, list, dict, set, tuple, int, float, bytes, frozenset)
    },
)

LANGUAGES: dict[str, LanguageTable] = {PYTHON.name: PYTHON}
"""The tables by language name, as the toolchains spell it."""
