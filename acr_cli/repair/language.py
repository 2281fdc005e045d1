"""What the search must know of a programming language: a table of node kinds, operators and templates.

The mutators are written against this table, not against a language. Another language is another table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tree_sitter import Language


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageTable:
    """One language. Node kinds are tree-sitter's; templates are `str.format` patterns."""

    name: str
    extensions: tuple[str, ...]
    grammar: Callable[[], Language]
    normalise: Callable[[bytes], str | None]
    """A key that is equal for pieces of source that mean the same; None for source that does not compile."""

    # Node kinds.
    module: str
    functions: frozenset[str]
    classes: frozenset[str]
    decorated: frozenset[str]
    decorators: frozenset[str]
    blocks: frozenset[str]
    statements: frozenset[str]  # whatever may stand in a block
    simple_statements: frozenset[str]
    clauses: frozenset[str]  # parts of a compound statement with a header of their own
    conditionals: frozenset[str]  # nodes with a field "condition" that branch
    loops: frozenset[str]
    returns: frozenset[str]
    raises: frozenset[str]
    handlers: frozenset[str]
    assignments: frozenset[str]
    augmented: frozenset[str]
    expression_statements: frozenset[str]
    jumps: frozenset[str]
    imports: frozenset[str]
    binary: frozenset[str]
    boolean: frozenset[str]
    comparison: frozenset[str]
    negation: frozenset[str]
    unary: frozenset[str]
    ternary: frozenset[str]
    calls: frozenset[str]
    arguments: frozenset[str]
    keyword_arguments: frozenset[str]
    attributes: frozenset[str]
    subscripts: frozenset[str]
    slices: frozenset[str]
    identifiers: frozenset[str]
    integers: frozenset[str]
    floats: frozenset[str]
    strings: frozenset[str]
    truths: frozenset[str]
    nothing: frozenset[str]
    sequences: frozenset[str]
    pairs: frozenset[str]
    comprehensions: frozenset[str]
    parenthesised: frozenset[str]
    default_parameters: frozenset[str]
    yields: frozenset[str]
    expressions: frozenset[str]  # whatever has a value

    # Operators: what each may have been meant to be, with weights in (0, 1].
    comparison_exchange: Mapping[str, Mapping[str, float]]
    binary_exchange: Mapping[str, Mapping[str, float]]
    augmented_exchange: Mapping[str, Mapping[str, float]]
    boolean_exchange: Mapping[str, str]
    method_exchange: Mapping[str, tuple[str, ...]]
    function_exchange: Mapping[str, tuple[str, ...]]
    exception_types: tuple[str, ...]
    mutable_literals: Mapping[str, str]  # default value -> how it is written when made afresh

    # Templates.
    true: str
    false: str
    none: str
    negated: str
    both: str
    either: str
    is_none: str
    is_not_none: str
    guard: str  # {indent} {condition} {action} {unit}
    wrappers: Mapping[str, tuple[tuple[str, float], ...]]  # type name ("" unknown) -> templates with {x}
    empties: Mapping[str, str]  # type name -> its empty value
    receiver: str  # the name by which a method knows its object
    builtins: frozenset[str]
    # path, text and all files -> statements that bind what the file uses and nothing binds
    missing_imports: Callable[[str, bytes, Mapping[str, bytes]], tuple[str, ...]]
    no_operation: str
    super_call: str = ""
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # type name -> its public methods
