"""A sample of the states of git that `make soak` goes through for longer."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.security.git_states import GitStates


def test_whatever_the_user_does_a_patch_is_there_whole_or_not_at_all_and_goes_again() -> None:
    run_state_machine_as_test(
        GitStates,
        settings=settings(
            max_examples=12,
            stateful_step_count=25,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
