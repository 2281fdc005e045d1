"""Python: its table, and when two pieces of Python source mean the same."""

from __future__ import annotations

import ast
import builtins
import sys
import warnings

from tree_sitter import Language

from acr_cli.repair.language import LanguageTable


def _grammar() -> Language:
    import tree_sitter_python

    return Language(tree_sitter_python.language())


class _Normal(ast.NodeTransformer):
    """Rewrites that keep the meaning: one form for negated comparisons, mirrored ones, `x += y` and the like."""

    INVERSE = {
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
    }
    MIRROR = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:  # noqa: N802 - the visitor's interface
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

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        right = node.right
        if isinstance(right, ast.Constant) and type(right.value) is int:
            if isinstance(node.op, ast.Sub):
                return ast.BinOp(node.left, ast.Add(), ast.Constant(-right.value))
            if right.value == 1 and isinstance(node.op, ast.Mult):
                return node.left
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if len(node.ops) == 1:
            mirror = self.MIRROR.get(type(node.ops[0]))
            if mirror is not None:
                return ast.Compare(node.comparators[0], [mirror()], [node.left])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and isinstance(node.value, ast.Constant):
            value = self.visit(ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
            return ast.Assign([ast.Name(node.target.id, ast.Store())], value)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            return ast.Return(None)
        return node


def normalise(source: bytes) -> str | None:
    """A key of the meaning of some statements: equal keys, equal programs. None when they do not compile. Pure."""
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


_TEXT = (
    ("int({x})", 0.5),
    ("{x}.strip()", 0.6),
    ("{x}.lower()", 0.6),
    ("float({x})", 0.3),
    ("{x}.upper()", 0.3),
    ("{x}.split()", 0.4),
    ("list({x})", 0.25),
    ("len({x})", 0.4),
    ("set({x})", 0.2),
    ("sorted({x})", 0.25),
    ("''.join({x})", 0.2),
    ("{x}.title()", 0.1),
    ("{x}.capitalize()", 0.15),
    ("{x}[::-1]", 0.3),
    ("repr({x})", 0.15),
    ("{x}.encode()", 0.15),
    ("{x}.rstrip()", 0.25),
    ("{x}.splitlines()", 0.1),
    ("reversed({x})", 0.1),
    ("{x}[0]", 0.1),
    ("{x}.casefold()", 0.1),
)
_NUMBER = (
    ("abs({x})", 0.6),
    ("str({x})", 0.6),
    ("int({x})", 0.5),
    ("-{x}", 0.4),
    ("round({x})", 0.35),
    ("float({x})", 0.3),
    ("bool({x})", 0.15),
    ("max({x}, 0)", 0.3),
    ("max({x}, 1)", 0.15),
    ("range({x})", 0.15),
    ("round({x}, 2)", 0.2),
    ("~{x}", 0.05),
    ("[{x}]", 0.15),
)
_LIST = (
    ("list({x})", 0.5),
    ("sorted({x})", 0.6),
    ("len({x})", 0.5),
    ("set({x})", 0.4),
    ("tuple({x})", 0.35),
    ("reversed({x})", 0.3),
    ("list(reversed({x}))", 0.3),
    ("{x}[::-1]", 0.3),
    ("sum({x})", 0.25),
    ("max({x})", 0.2),
    ("min({x})", 0.2),
    ("enumerate({x})", 0.2),
    ("list(set({x}))", 0.1),
    ("sorted(set({x}))", 0.2),
    ("{x}[0]", 0.2),
    ("{x}[-1]", 0.2),
    ("{x}[1:]", 0.2),
    ("{x}[:-1]", 0.2),
    ("{x}.copy()", 0.3),
    ("[{x}]", 0.2),
    ("', '.join({x})", 0.1),
    ("''.join({x})", 0.2),
    ("list(dict.fromkeys({x}))", 0.15),
    ("*{x}", 0.1),
)
_DICT = (
    ("{x}.items()", 0.5),
    ("{x}.values()", 0.5),
    ("{x}.keys()", 0.2),
    ("dict({x})", 0.5),
    ("{x}.copy()", 0.4),
    ("list({x})", 0.4),
    ("sorted({x})", 0.4),
    ("len({x})", 0.4),
    ("sorted({x}.items())", 0.3),
    ("list({x}.values())", 0.3),
    ("list({x}.items())", 0.3),
    ("**{x}", 0.1),
)
_ANY = (
    ("str({x})", 0.35),
    ("int({x})", 0.4),
    ("abs({x})", 0.4),
    ("len({x})", 0.4),
    ("sorted({x})", 0.4),
    ("list({x})", 0.45),
    ("float({x})", 0.2),
    ("set({x})", 0.25),
    ("tuple({x})", 0.25),
    ("round({x})", 0.2),
    ("{x}.strip()", 0.3),
    ("{x}.lower()", 0.3),
    ("{x}.copy()", 0.3),
    ("reversed({x})", 0.2),
    ("sum({x})", 0.2),
    ("max({x}, 0)", 0.15),
    ("-{x}", 0.2),
    ("not {x}", 0.2),
    ("dict({x})", 0.15),
    ("{x}[0]", 0.15),
    ("{x}[::-1]", 0.15),
    ("{x}()", 0.15),
    ("round({x}, 2)", 0.15),
    ("bool({x})", 0.15),
    ("await {x}", 0.1),
    ("''.join({x})", 0.15),
    ("list(reversed({x}))", 0.15),
    ("[{x}]", 0.1),
    ("sorted(set({x}))", 0.1),
    ("{x}.items()", 0.15),
    ("{x}.values()", 0.15),
    ("next({x})", 0.05),
    ("iter({x})", 0.05),
)

_COMPARE = {
    "<": {"<=": 1.0, ">": 0.7, ">=": 0.35, "!=": 0.2, "==": 0.15},
    "<=": {"<": 1.0, ">=": 0.7, ">": 0.35, "==": 0.2, "!=": 0.1},
    ">": {">=": 1.0, "<": 0.7, "<=": 0.35, "!=": 0.2, "==": 0.15},
    ">=": {">": 1.0, "<=": 0.7, "<": 0.35, "==": 0.2, "!=": 0.1},
    "==": {"!=": 0.8, ">=": 0.35, "<=": 0.35, "is": 0.15, "in": 0.25, "<": 0.2, ">": 0.2},
    "!=": {"==": 0.8, "is not": 0.15, "not in": 0.2, "<": 0.25, ">": 0.3, ">=": 0.15, "<=": 0.15},
    "is": {"is not": 0.8, "==": 0.8},
    "is not": {"is": 0.8, "!=": 0.8},
    "in": {"not in": 0.8, "==": 0.25},
    "not in": {"in": 0.8, "!=": 0.2},
}
_BINARY = {
    "+": {"-": 1.0, "*": 0.4, "|": 0.05, "//": 0.05},
    "-": {"+": 1.0, "*": 0.2, "/": 0.1, "//": 0.1, "%": 0.1},
    "*": {"/": 0.4, "+": 0.5, "**": 0.4, "//": 0.3, "-": 0.15},
    "/": {"//": 1.0, "*": 0.6, "%": 0.2, "-": 0.1},
    "//": {"/": 0.9, "%": 0.6, "*": 0.3, ">>": 0.1},
    "%": {"//": 0.7, "/": 0.3, "*": 0.1, "-": 0.1},
    "**": {"*": 0.8, "^": 0.1},
    "&": {"|": 0.7, "^": 0.4, "-": 0.2},
    "|": {"&": 0.7, "^": 0.4, "+": 0.1},
    "^": {"&": 0.5, "|": 0.5, "**": 0.5, "-": 0.1},
    "<<": {">>": 0.9, "*": 0.1},
    ">>": {"<<": 0.9, "//": 0.1},
    "@": {"*": 0.5},
}
_AUGMENTED = {
    "+=": {"-=": 0.8, "=": 0.7, "*=": 0.4},
    "-=": {"+=": 0.8, "=": 0.4, "//=": 0.1},
    "*=": {"+=": 0.6, "/=": 0.4, "=": 0.4, "//=": 0.3, "**=": 0.1},
    "/=": {"//=": 0.8, "*=": 0.6, "=": 0.3, "-=": 0.2},
    "//=": {"/=": 0.6, "-=": 0.3, "=": 0.3, "*=": 0.3, "%=": 0.3},
    "%=": {"//=": 0.5, "-=": 0.2, "=": 0.3},
    "|=": {"&=": 0.6, "=": 0.4, "^=": 0.4},
    "&=": {"|=": 0.6, "=": 0.4, "^=": 0.4},
    "^=": {"|=": 0.5, "&=": 0.5, "=": 0.2},
    "<<=": {">>=": 0.8},
    ">>=": {"<<=": 0.8},
    "**=": {"*=": 0.8},
}
_METHODS = {
    "append": ("extend", "insert", "add", "appendleft"),
    "extend": ("append", "update"),
    "insert": ("append",),
    "appendleft": ("append",),
    "popleft": ("pop",),
    "add": ("update", "append", "discard"),
    "update": ("add", "setdefault"),
    "remove": ("discard", "pop"),
    "discard": ("add", "remove"),
    "pop": ("popleft", "get", "remove"),
    "popitem": ("pop",),
    "get": ("pop", "setdefault"),
    "setdefault": ("get",),
    "keys": ("values", "items"),
    "values": ("keys", "items"),
    "items": ("values", "keys"),
    "union": ("intersection", "difference", "symmetric_difference"),
    "intersection": ("union", "difference"),
    "difference": ("symmetric_difference", "intersection", "union"),
    "symmetric_difference": ("difference", "union"),
    "issubset": ("issuperset", "isdisjoint"),
    "issuperset": ("issubset", "isdisjoint"),
    "isdisjoint": ("issubset",),
    "startswith": ("endswith",),
    "endswith": ("startswith",),
    "removeprefix": ("removesuffix",),
    "removesuffix": ("removeprefix", "rstrip"),
    "lower": ("upper", "casefold"),
    "upper": ("lower", "title"),
    "title": ("capitalize",),
    "capitalize": ("title",),
    "strip": ("lstrip", "rstrip"),
    "lstrip": ("rstrip", "strip"),
    "rstrip": ("lstrip", "strip", "removesuffix"),
    "ljust": ("rjust", "center"),
    "rjust": ("ljust", "zfill"),
    "find": ("rfind", "index"),
    "rfind": ("find",),
    "index": ("rindex", "find"),
    "split": ("rsplit", "splitlines", "partition"),
    "rsplit": ("split",),
    "partition": ("rpartition",),
    "rpartition": ("partition",),
    "isalpha": ("isalnum", "isdigit"),
    "isalnum": ("isalpha", "isdigit"),
    "isdigit": ("isalpha", "isalnum", "isdecimal", "isnumeric"),
    "isdecimal": ("isdigit",),
    "isupper": ("islower",),
    "islower": ("isupper",),
    "match": ("search", "fullmatch"),
    "search": ("match", "fullmatch"),
    "fullmatch": ("match", "search"),
    "findall": ("finditer",),
    "floor": ("ceil",),
    "ceil": ("floor",),
    "encode": ("decode",),
    "decode": ("encode",),
    "bisect_left": ("bisect_right",),
    "bisect_right": ("bisect_left",),
    "heappush": ("heappop",),
    "read": ("readline", "readlines"),
    "dumps": ("loads",),
    "loads": ("dumps",),
    "copy": ("deepcopy",),
    "permutations": ("combinations", "product"),
    "combinations": ("permutations", "combinations_with_replacement"),
    "total_seconds": ("seconds",),
    "seconds": ("total_seconds()", "days"),
    "sort": ("reverse",),
    "put": ("get",),
    "sub": ("subn",),
    "nlargest": ("nsmallest",),
    "nsmallest": ("nlargest",),
    "sin": ("cos",),
    "cos": ("sin",),
    "log": ("log2", "log10"),
    "log2": ("log",),
    "log10": ("log",),
}
_FUNCTIONS = {
    "min": ("max", "sorted"),
    "max": ("min",),
    "any": ("all",),
    "all": ("any",),
    "sum": ("len", "max"),
    "len": ("sum", "max"),
    "int": ("round", "float", "str"),
    "float": ("int", "str"),
    "str": ("repr", "int"),
    "repr": ("str",),
    "round": ("int", "abs"),
    "abs": ("round",),
    "list": ("set", "tuple", "sorted"),
    "set": ("list", "sorted", "frozenset"),
    "tuple": ("list",),
    "sorted": ("reversed", "list"),
    "reversed": ("sorted",),
    "range": ("reversed",),
    "zip": ("zip_longest",),
    "isinstance": ("issubclass",),
    "issubclass": ("isinstance",),
    "hasattr": ("getattr",),
    "ord": ("chr",),
    "chr": ("ord",),
    "floor": ("ceil",),
    "ceil": ("floor",),
    "next": ("list",),
    "filter": ("map",),
    "map": ("filter",),
    "iter": ("list",),
    "bisect": ("bisect_left",),
    "bisect_left": ("bisect_right",),
    "bisect_right": ("bisect_left",),
    "combinations": ("permutations",),
    "permutations": ("combinations",),
    "copy": ("deepcopy",),
    "heappush": ("heappop",),
}

_EXPRESSIONS = frozenset(
    "binary_operator boolean_operator comparison_operator not_operator unary_operator call attribute subscript"
    " identifier integer float string concatenated_string true false none list tuple dictionary set"
    " list_comprehension dictionary_comprehension set_comprehension generator_expression conditional_expression"
    " parenthesized_expression lambda await".split()
)
_SIMPLE = frozenset(
    "expression_statement return_statement raise_statement break_statement continue_statement pass_statement"
    " assert_statement delete_statement global_statement nonlocal_statement import_statement"
    " import_from_statement future_import_statement".split()
)
_COMPOUND = frozenset(
    "if_statement for_statement while_statement try_statement with_statement match_statement"
    " function_definition class_definition decorated_definition".split()
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
    comparison_exchange=_COMPARE,
    binary_exchange=_BINARY,
    augmented_exchange=_AUGMENTED,
    boolean_exchange={"and": "or", "or": "and"},
    method_exchange=_METHODS,
    function_exchange=_FUNCTIONS,
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
        "str": _TEXT,
        "int": _NUMBER,
        "float": _NUMBER,
        "list": _LIST,
        "tuple": _LIST,
        "set": _LIST,
        "dict": _DICT,
        "": _ANY,
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
    modules=frozenset(sys.stdlib_module_names),
    import_template="import {name}\n",
    no_operation="pass",
    super_call="super().__init__({arguments})",
    types={
        kind.__name__: _methods(kind) for kind in (str, list, dict, set, tuple, int, float, bytes, frozenset)
    },
)

LANGUAGES: dict[str, LanguageTable] = {PYTHON.name: PYTHON}
"""The tables by language name, as the toolchains spell it."""
