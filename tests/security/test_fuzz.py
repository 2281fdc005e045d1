"""Every parser of text that nobody vouches for: a value of its type or its own error, whatever it is shown.

`make soak` shows them more, with other seeds.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.security import (
    fuzzing_files,
    fuzzing_git,
    fuzzing_projects,
    fuzzing_providers,
    fuzzing_replies,
    fuzzing_stored,
)
from tests.security.fuzzing import Parser, heavy, inputs

PARSERS = {
    parser.name: parser
    for module in (
        fuzzing_replies,
        fuzzing_projects,
        fuzzing_files,
        fuzzing_git,
        fuzzing_providers,
        fuzzing_stored,
    )
    for parser in module.PARSERS
}


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)
def test_a_parser_reads_or_refuses(parser: Parser) -> None:
    for sample in parser.samples:
        assert parser.try_out(sample), sample

    @settings(
        max_examples=8 if parser.dear else 30,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # to make an input smaller that takes long takes longer
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def broken(data: st.DataObject) -> None:
        parser.try_out(data.draw(inputs(parser)))

    broken()


@pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)
def test_a_parser_ends_soon_and_needs_no_stack(parser: Parser) -> None:
    for given_ in heavy(parser):
        parser.try_out(given_)
