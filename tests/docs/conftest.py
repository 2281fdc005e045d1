"""The small repository and the pool of the end-to-end tests, for the documents."""

from __future__ import annotations

from tests.end_to_end.conftest import broken, pool

__all__ = ["broken", "pool"]
