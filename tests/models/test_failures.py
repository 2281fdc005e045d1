"""What a provider says of waiting."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acr_cli.models.failures import ours
from tests.agent.conftest import candidate


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        (f"Sat, {'01' * 24} Jan 2028 00:00:00 GMT", None),
        ("nan", None),
        ("1e999", None),
        ("soon", None),
    ],
)
def test_a_time_to_wait_is_heeded_where_it_is_one(said: str, seconds: float | None) -> None:
    error: Any = ConnectionError("too many requests")
    error.status_code, error.response = 429, SimpleNamespace(headers={"retry-after": said})
    found = ours(error, candidate(), key="sk-secret", now=lambda: 0.0)
    assert getattr(found, "retry_after", None) == seconds
