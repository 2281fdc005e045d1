"""All kinds of mutation with their priors.

A prior says how often a defect of that kind is met, relative to the others. They follow what studies of
real one-line fixes and of repair by fix patterns report: conditions, operators, then names and calls, then
values, then missing guards, then moved or inserted statements. Patterns that are defects wherever they stand
(a mutable default, a loop variable caught late) come before all.
"""

from __future__ import annotations

from acr_cli.repair.mutation import Mutator
from acr_cli.repair.mutators import calls, conditions, definitions, names, operators, statements, values

MUTATORS: tuple[Mutator, ...] = (
    Mutator(kind="comparison", prior=1.0, propose=operators.comparison),
    Mutator(kind="operator", prior=0.9, propose=operators.binary),
    Mutator(kind="boolean", prior=0.8, propose=operators.boolean),
    Mutator(kind="augmented", prior=0.7, propose=operators.augmented),
    Mutator(kind="negate", prior=0.75, propose=operators.negate),
    Mutator(kind="grouping", prior=0.5, propose=operators.grouping),
    Mutator(kind="operands", prior=0.5, propose=operators.operands),
    Mutator(kind="branches", prior=0.45, propose=operators.branches),
    Mutator(kind="off_by_one", prior=0.85, propose=values.off_by_one),
    Mutator(kind="bounds", prior=0.65, propose=values.bounds),
    Mutator(kind="constant", prior=0.55, propose=values.constant),
    Mutator(kind="truth", prior=0.7, propose=values.truth),
    Mutator(kind="string", prior=0.45, propose=values.string),
    Mutator(kind="variable", prior=0.8, propose=names.variable),
    Mutator(kind="name_for_number", prior=0.6, propose=names.name_for_number),
    Mutator(kind="attribute", prior=0.7, propose=names.attribute),
    Mutator(kind="method", prior=0.75, propose=names.method),
    Mutator(kind="exchange", prior=0.45, propose=names.exchange),
    Mutator(kind="name", prior=0.6, propose=names.name),
    Mutator(kind="import", prior=2.0, propose=names.imports),
    Mutator(kind="receiver", prior=0.5, propose=names.receiver),
    Mutator(kind="declare", prior=0.4, propose=names.declare),
    Mutator(kind="arguments", prior=0.65, propose=calls.arguments),
    Mutator(kind="flag", prior=0.6, propose=calls.flag),
    Mutator(kind="wrap", prior=0.5, propose=calls.wrap),
    Mutator(kind="unwrap", prior=0.55, propose=calls.unwrap),
    Mutator(kind="reverse", prior=0.4, propose=calls.reverse),
    Mutator(kind="copy", prior=0.45, propose=calls.copy),
    Mutator(kind="lookup", prior=0.5, propose=calls.lookup),
    Mutator(kind="condition", prior=0.45, propose=conditions.condition),
    Mutator(kind="truth_test", prior=0.6, propose=conditions.none_test),
    Mutator(kind="fallback", prior=0.35, propose=conditions.fallback),
    Mutator(kind="guard", prior=0.5, propose=conditions.guard),
    Mutator(kind="return_value", prior=0.55, propose=statements.return_value),
    Mutator(kind="missing_return", prior=0.5, propose=statements.missing_return),
    Mutator(kind="jump", prior=0.6, propose=statements.jump),
    Mutator(kind="move", prior=0.6, propose=statements.move),
    Mutator(kind="swap", prior=0.5, propose=statements.swap),
    Mutator(kind="delete", prior=0.35, propose=statements.delete),
    Mutator(kind="loop", prior=0.45, propose=statements.loop),
    Mutator(kind="chain", prior=0.5, propose=statements.chain),
    Mutator(kind="insert", prior=0.4, propose=statements.insert),
    Mutator(kind="shared_default", prior=3.0, propose=definitions.shared_default),
    Mutator(kind="default", prior=0.4, propose=definitions.default),
    Mutator(kind="decorator", prior=0.4, propose=definitions.decorator),
    Mutator(kind="base_call", prior=0.5, propose=definitions.base_call),
    Mutator(kind="capture", prior=2.0, propose=definitions.capture),
    Mutator(kind="exception", prior=0.6, propose=definitions.exception),
    Mutator(kind="raise", prior=0.5, propose=definitions.raising),
    Mutator(kind="shared", prior=1.5, propose=definitions.shared_attribute),
)
"""Every mutator, each of which looks at every suspicious node."""
