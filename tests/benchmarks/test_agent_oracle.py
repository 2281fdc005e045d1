"""The oracle of the comparison writes what its samples hold, and nothing that it has not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from acr_cli.testing.loopback import Request
from tests.benchmarks.agent import counted
from tests.benchmarks.agent_oracle import Oracle, Sample, prompt

FOLDERS = sorted((Path(__file__).parent / "agent_tasks").glob("*/task.md"))
SAMPLES = [Sample.read(each.parent) for each in FOLDERS]
INVOICES = next(sample for sample in SAMPLES if sample.name == "invoices")


def asked(text: str) -> Request:
    return Request(
        path="/v1/chat/completions",
        headers={},
        body={"messages": [{"role": "user", "content": text}], "tools": [{"name": "edit"}]},
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_the_hunks_of_a_sample_make_the_right_files(sample: Sample) -> None:
    assert sample.after
    for path, right in sample.after.items():
        text = sample.before.get(path, "")
        for search, replace in sample.hunks(path):
            assert not search or text.count(search) == 1
            text = text.replace(search, replace, 1) if search else replace
        assert text == right


@pytest.mark.parametrize("program", ["acr", "aider", "mini"])
def test_a_file_is_asked_for_before_its_lines_are_changed(program: str) -> None:
    oracle = Oracle(sample=INVOICES, program=program)
    first = oracle(asked("Fix it."))
    spoken = first.text + "".join(call.arguments for call in first.tool_calls)
    assert "invoices/lines.py" in spoken
    assert "total - rounded" not in spoken
    second = oracle(asked("\n".join(INVOICES.before.values())))
    assert "total - rounded" in second.text + "".join(call.arguments for call in second.tool_calls)


def test_lines_in_the_json_of_an_output_are_seen_too() -> None:
    oracle = Oracle(sample=INVOICES, program="mini")
    output = "\n".join(INVOICES.before.values()).replace('"', '\\"').replace("'", "\\u0027")
    assert "git apply" in oracle(asked(output)).tool_calls[0].arguments


def test_a_beginning_that_is_sent_again_is_counted_apart() -> None:
    one, other = prompt(asked("word " * 50)), prompt(asked("word " * 50 + "and more"))
    tokens, again = counted([one, other])
    assert 100 < tokens < 140
    assert 50 < again < tokens / 2
