"""One source file: its syntax tree, and the facts that mutators ask for (names, literals, conditions)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tree_sitter import Node, Parser, Tree

from acr_cli.repair.language import LanguageTable

Types = Mapping[str, frozenset[str]]
"""Names of one function (and "self.x") to the types that were seen in them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    """A function of the file, as far as mutators care."""

    name: str
    parameters: tuple[str, ...]  # names in order, without the receiver
    required: int  # how many of them have no default
    method: bool
    answers: bool  # whether it returns a value anywhere
    node: Node


@dataclass(frozen=True, kw_only=True)
class Source:
    """A parsed file. Spans are in bytes, lines from 1. `types`: what the tests showed, by function line."""

    path: str
    text: bytes
    tree: Tree
    table: LanguageTable
    types: Mapping[int, Types] = field(default_factory=dict)
    imports: tuple[str, ...] = ()  # statements that it may lack, see `LanguageTable.missing_imports`

    def of(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace")

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All named nodes, parents before children."""
        return tuple(walk(self.tree.root_node))

    # --- places ---

    def statement_of(self, node: Node) -> Node:
        """The innermost statement or clause that holds a node, itself included."""
        wanted = self.table.statements | self.table.clauses
        step: Node | None = node
        while step is not None and step.type not in wanted:
            step = step.parent
        return step if step is not None else node

    def enclosing(self, node: Node, kinds: frozenset[str]) -> Node | None:
        """The innermost ancestor of one of these kinds."""
        step = node.parent
        while step is not None and step.type not in kinds:
            step = step.parent
        return step

    def function_of(self, node: Node) -> Node | None:
        return self.enclosing(node, self.table.functions)

    def header_lines(self, statement: Node) -> range:
        """The lines of a statement without the blocks below it."""
        first, last = statement.start_point.row + 1, statement.end_point.row + 1
        for child in statement.named_children:
            if child.type in self.table.blocks or child.type in self.table.clauses:
                last = min(last, max(first, child.start_point.row))
                break
        if statement.type in self.table.decorated:
            last = first
        return range(first, last + 1)

    def indent_of(self, node: Node) -> str:
        """The white space before the first thing on the node's line."""
        start = self.text.rfind(b"\n", 0, node.start_byte) + 1
        end = start
        while end < len(self.text) and self.text[end : end + 1] in (b" ", b"\t"):
            end += 1
        return self.text[start:end].decode()

    @cached_property
    def unit(self) -> str:
        """One step of indentation."""
        for node in self.nodes:
            if node.type in self.table.blocks and node.parent is not None and node.named_children:
                outer, inner = self.indent_of(node.parent), self.indent_of(node.named_children[0])
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer) :]
        return "    "

    # --- names ---

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        found = []
        for node in self.nodes:
            if node.type in self.table.functions:
                name = node.child_by_field_name("name")
                names, required = self._parameters(node)
                method = self.enclosing(node, self.table.classes | self.table.functions)
                inside = method is not None and method.type in self.table.classes
                if inside and names and not self._static(node):
                    names, required = names[1:], max(0, required - 1)
                found.append(
                    Function(
                        name=self.of(name) if name is not None else "",
                        parameters=tuple(names),
                        required=required,
                        method=inside,
                        answers=self._answers(node),
                        node=node,
                    )
                )
        return tuple(found)

    def _answers(self, function: Node) -> bool:
        kinds = self.table.returns | self.table.yields
        return any(part.type in kinds and part.named_children for part in walk(function))

    def _static(self, node: Node) -> bool:
        parent = node.parent
        return (
            parent is not None
            and parent.type in self.table.decorated
            and any("staticmethod" in self.of(child) for child in parent.named_children[:-1])
        )

    def _parameters(self, function: Node) -> tuple[list[str], int]:
        names, required = [], 0
        parameters = function.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters is not None else ():
            name = parameter.child_by_field_name("name")
            if name is None:
                name = next((n for n in walk(parameter) if n.type in self.table.identifiers), None)
            if name is None:
                continue
            names.append(self.of(name))
            if parameter.type not in self.table.default_parameters and "splat" not in parameter.type:
                required += 1
        return names, required

    def parameters_of(self, function: Node) -> tuple[str, ...]:
        return tuple(self._parameters(function)[0])

    @cached_property
    def bound_by_function(self) -> Mapping[int, tuple[str, ...]]:
        """Names bound inside each function (by its start byte), in order of first binding."""
        bound: dict[int, dict[str, None]] = {}
        for node in self.nodes:
            for target in self._targets(node):
                function = self.function_of(target)
                key = function.start_byte if function is not None else -1
                for name in walk(target):
                    if name.type in self.table.identifiers and not self._inside_attribute(name, target):
                        bound.setdefault(key, {})[self.of(name)] = None
        return {key: tuple(names) for key, names in bound.items()}

    def _inside_attribute(self, name: Node, target: Node) -> bool:
        step: Node | None = name.parent
        while step is not None and step.start_byte >= target.start_byte and step.end_byte <= target.end_byte:
            if step.type in self.table.attributes or step.type in self.table.subscripts:
                return True
            step = step.parent
        return False

    def _targets(self, node: Node) -> Iterator[Node]:
        left = node.child_by_field_name("left")
        if left is not None and (
            node.type in self.table.assignments | self.table.augmented | self.table.loops
        ):
            yield left
        elif node.type in ("as_pattern_target", "named_expression"):
            yield node.child_by_field_name("name") or node

    @cached_property
    def top_names(self) -> tuple[str, ...]:
        """Names of the module: assigned constants, then functions and classes, then imports."""
        names = dict.fromkeys(self.bound_by_function.get(-1, ()))
        names.update(dict.fromkeys(self.callables))
        for node in self.tree.root_node.named_children:
            if node.type in self.table.imports:
                names.update(dict.fromkeys(self._imported(node)))
        return tuple(names)

    def _imported(self, node: Node) -> Iterator[str]:
        for child in node.children_by_field_name("name"):
            alias = child.child_by_field_name("alias")
            yield self.of(alias) if alias is not None else self.of(child).split(".")[0]

    @cached_property
    def callables(self) -> tuple[str, ...]:
        """Functions and classes at the top of the module."""
        names = [f.name for f in self.functions if self.function_of(f.node) is None and not f.method]
        for node in self.nodes:
            if node.type in self.table.classes:
                name = node.child_by_field_name("name")
                if name is not None:
                    names.append(self.of(name))
        return tuple(dict.fromkeys(names))

    def variables_at(self, node: Node) -> tuple[str, ...]:
        """Names of values that a node may use, nearest scope first."""
        names: dict[str, None] = {}
        step: Node | None = node
        while step is not None:
            if step.type in self.table.comprehensions:
                for part in walk(step):
                    if (
                        part.type == "for_in_clause"
                        and (left := part.child_by_field_name("left")) is not None
                    ):
                        names.update(
                            {self.of(n): None for n in walk(left) if n.type in self.table.identifiers}
                        )
            if step.type in self.table.functions:
                names.update(dict.fromkeys(self.bound_by_function.get(step.start_byte, ())))
                names.update(dict.fromkeys(self.parameters_of(step)))
            elif step.type == "lambda":
                names.update(dict.fromkeys(self.parameters_of(step)))
            step = step.parent
        names.update(dict.fromkeys(self.bound_by_function.get(-1, ())))
        return tuple(names)

    @cached_property
    def members(self) -> Mapping[str, tuple[str, ...]]:
        """Attribute names seen on each object text ("self", "node"), those called as methods left out."""
        seen: dict[str, dict[str, None]] = {}
        for node in self.nodes:
            if node.type in self.table.attributes and not self.is_callee(node):
                owner, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
                if owner is not None and name is not None:
                    seen.setdefault(self.of(owner), {})[self.of(name)] = None
        return {owner: tuple(names) for owner, names in seen.items()}

    @cached_property
    def all_members(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in self.members.values() for name in names))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.name for f in self.functions if f.method))

    def is_callee(self, node: Node) -> bool:
        """Whether a node is what a call calls."""
        parent = node.parent
        return (
            parent is not None
            and parent.type in self.table.calls
            and parent.child_by_field_name("function") == node
        )

    def is_value(self, node: Node) -> bool:
        """Whether a node is an expression that is read: no target, keyword, parameter or attribute name."""
        if node.type not in self.table.expressions:
            return False
        parent = node.parent
        if parent is None or self.is_callee(node):
            return False
        if parent.type in self.table.attributes:
            return parent.child_by_field_name("object") == node
        if parent.type in self.table.keyword_arguments:
            return parent.child_by_field_name("value") == node
        if parent.type in self.table.default_parameters:
            return parent.child_by_field_name("value") == node
        if parent.type in self.table.classes | self.table.functions | self.table.imports | {
            "parameters",
            "lambda_parameters",
            "dotted_name",
            "aliased_import",
            "global_statement",
            "nonlocal_statement",
            "type",
            "as_pattern_target",
            "pattern_list",
            "tuple_pattern",
            "list_pattern",
            "typed_parameter",
            "list_splat_pattern",
            "dictionary_splat_pattern",
            "delete_statement",
            "decorator",
            "case_pattern",
        }:
            return False
        left = parent.child_by_field_name("left")
        writes = self.table.assignments | self.table.augmented | self.table.loops | {"for_in_clause"}
        return not (parent.type in writes and left == node)

    # --- vocabulary of the file ---

    @cached_property
    def integer_texts(self) -> tuple[str, ...]:
        return self._texts(self.table.integers)

    @cached_property
    def float_texts(self) -> tuple[str, ...]:
        return self._texts(self.table.floats)

    @cached_property
    def string_texts(self) -> tuple[str, ...]:
        """String literals that are values, no docstrings."""
        texts: dict[str, None] = {}
        for node in self.nodes:
            if node.type in self.table.strings and not self.is_docstring(node):
                text = self.of(node)
                if len(text) <= 40 and "\n" not in text and "{" not in text:
                    texts[text] = None
        return tuple(texts)

    def is_docstring(self, node: Node) -> bool:
        return node.parent is not None and node.parent.type in self.table.expression_statements

    def _texts(self, kinds: frozenset[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.of(node) for node in self.nodes if node.type in kinds))

    @cached_property
    def conditions(self) -> tuple[Node, ...]:
        """Conditions of branches and loops, and what they are joined of."""
        found: list[Node] = []
        for node in self.nodes:
            if node.type in self.table.conditionals | self.table.ternary:
                condition = node.child_by_field_name("condition")
                if condition is not None:
                    found.extend(self.conjuncts(condition))
        return tuple(found)

    def conjuncts(self, condition: Node) -> Iterator[Node]:
        if condition.type in self.table.boolean:
            for side in ("left", "right"):
                child = condition.child_by_field_name(side)
                if child is not None:
                    yield from self.conjuncts(child)
        else:
            yield condition

    def types_at(self, node: Node) -> Types:
        """Types of names in the function around a node, as the tests showed them."""
        function = self.function_of(node)
        if function is None:
            return {}
        outer = function.parent
        first = outer if outer is not None and outer.type in self.table.decorated else function
        return self.types.get(first.start_point.row + 1) or self.types.get(function.start_point.row + 1) or {}

    def type_of(self, node: Node) -> str:
        """The one type of an expression, "" when it is not known or not one."""
        t = self.table
        if node.type in t.strings:
            return "str"
        if node.type in t.integers:
            return "int"
        if node.type in t.floats:
            return "float"
        known = {
            "list": "list",
            "dictionary": "dict",
            "tuple": "tuple",
            "list_comprehension": "list",
            "set": "set",
        }
        if node.type in known:
            return known[node.type]
        if node.type in t.comparison | t.negation:
            return "bool"
        if node.type in t.identifiers | t.attributes:
            seen = self.types_at(node).get(self.of(node), frozenset()) - {"NoneType"}
            return next(iter(seen)) if len(seen) == 1 else ""
        if node.type in t.calls:
            callee = node.child_by_field_name("function")
            name = self.of(callee) if callee is not None else ""
            plain = {
                "len": "int",
                "str": "str",
                "int": "int",
                "float": "float",
                "sorted": "list",
                "list": "list",
            }
            return plain.get(name, "")
        return ""


def walk(node: Node) -> Iterator[Node]:
    """Named nodes below and including a node, parents first, in order of the text."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(top.named_children))


def parse(
    path: str,
    text: bytes,
    table: LanguageTable,
    types: Mapping[int, Types] | None = None,
    imports: tuple[str, ...] = (),
) -> Source:
    """A file's bytes as a `Source`."""
    tree = Parser(table.grammar()).parse(text)
    return Source(path=path, text=text, tree=tree, table=table, types=types or {}, imports=imports)
