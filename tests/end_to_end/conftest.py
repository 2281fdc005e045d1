"""A small repository with one failing test, and a pool of two models on a loopback server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from acr_cli.testing.loopback import LoopbackServer

# A defect that no small change mends: repair cannot be the reason that a test passes.
SLUG = {
    "slug.py": "def slugify(text):\n    return text\n",
    "test_slug.py": (
        "from slug import slugify\n\n\n"
        "def test_words_are_joined():\n    assert slugify('Hello, big World!') == 'hello-big-world'\n\n\n"
        "def test_nothing_stays_nothing():\n    assert slugify('') == ''\n"
    ),
}
RIGHT = "import re\n\n\ndef slugify(text):\n    return '-'.join(re.findall(r'[a-z0-9]+', text.lower()))\n"
WRONG = "def slugify(text):\n    return text.lower()\n"


@pytest.fixture(autouse=True)
def _interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox runs the tests of the small repositories with this environment's pytest."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


@pytest.fixture
def broken(git_repo: Callable[..., Path]) -> Path:
    return git_repo(SLUG, name="slug")


@pytest.fixture
def pool(acr_home: Path) -> Callable[..., None]:
    """Writes a config with these models on one server: name -> price in USD per million tokens."""

    def write(server: LoopbackServer, prices: Mapping[str, float], **settings: Any) -> None:
        lines = [f"{key} = {json.dumps(value)}" for key, value in {"exploration": 0.0, **settings}.items()]
        for name, price in prices.items():
            lines += [
                "[[model]]",
                f'id = "openai/{name}"',
                f'base_url = "{server.base_url}"',
                'api_key_env = "KEY_OF_THE_TESTS"',
                f"price = {{input = {price}, output = {price * 5}}}",
            ]
        acr_home.mkdir(parents=True, exist_ok=True)
        (acr_home / "config.toml").write_text("\n".join(lines) + "\n")

    return write


def result_of(stdout: str) -> dict[str, Any]:
    """The last line of `acr fix --json`."""
    found: dict[str, Any] = json.loads(stdout.strip().splitlines()[-1])
    assert found["type"] == "result"
    return found
