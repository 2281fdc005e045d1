"""`acr config` and `acr models`: the file is changed in place, whole, and keeps what its owner wrote."""

from __future__ import annotations

import json
import math
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acr_cli.cli.edit_config import (
    accept_providers,
    reject_provider,
    remove_model,
    set_key,
    template,
    unset_key,
)
from acr_cli.cli.toml import literal
from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.settings import KEYS, Settings, load

PROGRAM = Path(sys.executable).parent / "acr"
MINE = """\
# my settings
max_cost = 2  # dollars

[[model]]  # the good one
id = "anthropic/claude-opus-4-6"

[memory]
bound = 100  # few
"""


@pytest.fixture
def file(acr_home: Path) -> Path:
    acr_home.mkdir()
    path = acr_home / "config.toml"
    path.write_text(MINE)
    return path


@pytest.mark.parametrize(
    ("key", "text", "field", "want"),
    [
        ("max_cost", "0.5", "max_cost", 0.5),
        ("max_cost", "inf", "max_cost", float("inf")),
        ("attempts", "5", "attempts", 5),
        ("max_time", "10m", "max_time", 600.0),
        ("memory_limit", "1GiB", "memory_limit", 1024**3),
        ("allow", "a, b", "allow", ("a", "b")),
        ("commit", "yes", "commit", True),
        ("test", 'pytest -k "a b"', "test", 'pytest -k "a b"'),
        ("memory.store_text", "false", "store_text", False),
        ("memory.bound", "7", "memory_bound", 7),
    ],
)
def test_a_key_that_is_set_is_read_back_and_all_else_stays(file: Path, key, text, field, want) -> None:
    set_key(file, key, text)
    settings = load().settings
    assert getattr(settings, field) == want
    assert settings.models[0].id == "anthropic/claude-opus-4-6"
    content = file.read_text()
    for comment in ("# my settings", "# the good one"):
        assert comment in content
    assert file.stat().st_mode & 0o777 == 0o600


def test_setting_a_key_in_a_new_file_starts_from_the_template(acr_home: Path) -> None:
    set_key(acr_home / "config.toml", "max_cost", "3")
    set_key(acr_home / "config.toml", "memory.bound", "9")
    settings = load().settings
    assert (settings.max_cost, settings.memory_bound) == (3.0, 9)


def test_a_key_is_set_on_its_line_of_the_template(acr_home: Path) -> None:
    path = acr_home / "config.toml"
    for key, text in (("max_cost", "3"), ("memory.bound", "9"), ("sandbox", "docker"), ("max_cost", "4")):
        set_key(path, key, text)
    changed = [
        line for line in path.read_text().splitlines() if line not in template().splitlines() and line.strip()
    ]
    assert changed == [
        "max_cost = 4  # USD for a run",
        'sandbox = "docker"  # where tests run',
        "bound = 9  # outcomes that are kept",
    ]
    assert len(path.read_text().splitlines()) == len(template().splitlines())


def test_a_commented_line_inside_a_text_is_no_place_for_a_value(file: Path) -> None:
    file.write_text('setup = """\n# attempts = 3\n"""\n')
    set_key(file, "attempts", "7")
    assert load().settings.attempts == 7
    assert load().settings.setup == "# attempts = 3\n"


def test_a_blank_line_stays_before_a_table(file: Path) -> None:
    file.write_text('[[model]]\nid = "anthropic/claude-opus-4-6"\n')
    set_key(file, "attempts", "7")
    assert file.read_text() == 'attempts = 7\n\n[[model]]\nid = "anthropic/claude-opus-4-6"\n'


def test_the_template_says_the_defaults(acr_home: Path) -> None:
    assert tomllib.loads(template()) in ({}, {"memory": {}})
    lines = [line.removeprefix("# ") for line in template().splitlines() if " = " in line]
    spoken = "\n".join(
        line for line in lines if not line.startswith(("id", "base_url", "api_key_env", "price"))
    )
    tables = tomllib.loads("\n".join(line for line in spoken.splitlines() if "= ..." not in line))
    defaults = Settings(home=acr_home)
    for key in KEYS:
        value = getattr(defaults, key.field)
        if key.file and value is not None:
            assert tables[key.name.split(".")[-1]] == (list(value) if isinstance(value, tuple) else value)


def test_what_config_show_prints_is_toml_that_says_the_same(acr, file: Path, tmp_path: Path) -> None:
    done = acr("config", "show")
    assert done.returncode == 0
    copy = tmp_path / "copy.toml"
    copy.write_text(done.stdout)
    first, second = load().settings, load(config=copy).settings
    for key in KEYS:
        assert getattr(first, key.field) == getattr(second, key.field)
    assert first.models == second.models


def test_config_show_origin(acr, file: Path) -> None:
    done = acr("config", "show", "--origin", env={"ACR_ATTEMPTS": "2"})
    assert f"max_cost = 2  # {file}, line 2" in done.stdout
    assert "attempts = 2  # ACR_ATTEMPTS" in done.stdout
    assert "max_steps = 20  # default" in done.stdout


def test_config_path_and_set(acr, file: Path) -> None:
    assert acr("config", "path").stdout == f"{file}\n"
    assert acr("config", "set", "sandbox", "docker").stdout == 'sandbox = "docker"\n'
    assert load().settings.sandbox == "docker"


def test_models_are_added_and_removed(acr, file: Path) -> None:
    done = acr(
        *("models", "add", "openai/mine", "--base-url", "http://127.0.0.1:9/v1", "--api-key-env", "MY_KEY"),
        *("--price", "0.5,1.5", "--effort", "low,high", "--context", "8192"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    mine = load().settings.models[1]
    assert (mine.id, mine.effort, mine.context_window) == ("openai/mine", ("low", "high"), 8192)
    assert mine.price is not None
    assert (mine.price.input, mine.price.output) == (0.5, 1.5)
    listed = acr("models", "list").stdout
    for word in ("openai/mine@low", "openai/mine@high", "needs MY_KEY, which is not set", "builtin/repair"):
        assert word in listed
    shapes = [json.loads(line) for line in acr("models", "list", "--json").stdout.splitlines()]
    assert {"openai/mine@low", "builtin/repair"} <= {shape["model"] for shape in shapes}
    assert acr("models", "add", "openai/mine", "--base-url", "http://127.0.0.1:9/v1").returncode == 2
    assert acr("models", "remove", "openai/mine").returncode == 0
    assert [model.id for model in load().settings.models] == ["anthropic/claude-opus-4-6"]
    assert "# the good one" in file.read_text()


def test_a_model_that_the_file_would_refuse_is_not_written(acr, file: Path) -> None:
    done = acr("models", "add", "openai/mine", "--base-url", "http://example.org/v1")
    assert done.returncode == 2
    assert "https://" in done.stderr
    assert file.read_text() == MINE


def test_the_last_model_can_be_removed(file: Path) -> None:
    assert remove_model(file, "anthropic/claude-opus-4-6") == 1
    assert remove_model(file, "anthropic/claude-opus-4-6") == 0
    assert load().settings.models == ()


def test_providers_are_accepted_once_and_rejected(file: Path) -> None:
    accept_providers(file, ["openai"])
    accept_providers(file, ["openai", "anthropic"])
    assert load().settings.providers == ("openai", "anthropic")
    assert reject_provider(file, "openai")
    assert not reject_provider(file, "openai")
    assert load().settings.providers == ("anthropic",)


def test_the_last_provider_leaves_no_empty_list_and_a_no_stays(file: Path) -> None:
    accept_providers(file, ["openai"])
    assert reject_provider(file, "openai")
    assert "providers" not in file.read_text()
    accept_providers(file, [])
    assert not reject_provider(file, "openai")
    assert "providers = []" in file.read_text()


@pytest.mark.parametrize("name", ["foo", "foo/bar", "gpt-six"])
def test_a_model_of_nobody_is_not_added(acr, file: Path, name: str) -> None:
    done = acr("models", "add", name)
    assert (done.returncode, f"{name} names no provider" in done.stderr) == (2, True)
    assert "--base-url" in done.stderr
    assert file.read_text() == MINE


def test_a_model_without_a_price_is_added_with_a_warning(acr, file: Path) -> None:
    assert "no price of openai/nonono is known" in acr("models", "add", "openai/nonono").stderr


def test_what_is_built_in_is_not_removed(acr, file: Path) -> None:
    done = acr("models", "remove", "builtin/repair")
    assert (done.returncode, "built in" in done.stderr, "--exclude" in done.stderr) == (2, True, True)


def test_a_server_that_is_down_is_named_and_a_missing_key_too(acr, file: Path) -> None:
    acr("models", "add", "openai/mine", "--base-url", "http://127.0.0.1:9/v1")
    done = acr("models", "test", "openai/mine")
    assert (done.returncode, done.stderr) == (5, "")
    assert done.stdout.splitlines()[0] == "openai/mine cannot be reached at http://127.0.0.1:9/v1."
    assert (
        "anthropic/claude-opus-4-6 needs ANTHROPIC_API_KEY, which is not set." in acr("models", "list").stdout
    )
    assert acr("completion", "--values", "configured").stdout.split() == [
        "anthropic/claude-opus-4-6",
        "openai/mine",
    ]


def test_a_linked_config_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(MINE)
    file.unlink()
    file.symlink_to(real)
    set_key(file, "attempts", "9")
    assert file.is_symlink()
    assert "attempts = 9" in real.read_text()


def test_a_file_that_begins_with_a_byte_order_mark_is_read_and_changed(file: Path) -> None:
    file.write_text(f"\ufeff{MINE}", encoding="utf-8")
    assert load(environ={"ACR_HOME": str(file.parent)}).settings.max_cost == 2
    set_key(file, "max_cost", "3")
    assert tomllib.loads(file.read_text(encoding="utf-8"))["max_cost"] == 3


@pytest.mark.parametrize(
    ("content", "change", "says"),
    [
        (b"memory = 5\n", lambda path: set_key(path, "memory.bound", "3"), "'memory' is no table."),
        (b"memory = 5\n", lambda path: unset_key(path, "memory.bound"), "'memory' is no table."),
        (b"model = 5\n", lambda path: remove_model(path, "openai/x"), "'model' is no list."),
        (b"providers = 'x'\n", lambda path: accept_providers(path, ["x"]), "'providers' is no list."),
        (b"test = '\xfc'\n", lambda path: set_key(path, "commit", "yes"), "is not UTF-8 text."),
        (b"# x\n" * 300_000, lambda path: set_key(path, "commit", "yes"), "is larger than 1024 KiB."),
    ],
)
def test_a_file_of_another_shape_is_named_and_kept(
    file: Path, content: bytes, change: Callable[[Path], object], says: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        change(file)
    assert caught.value.message.startswith(str(file))
    assert caught.value.message.endswith(says)
    assert file.read_bytes() == content


def test_bytes_that_are_no_text_are_no_value(file: Path) -> None:
    with pytest.raises(UsageError, match="The value of test is not UTF-8 text"):
        set_key(file, "test", "a\udcff")
    assert file.read_text() == MINE


def test_changes_at_the_same_moment_are_all_kept(file: Path) -> None:
    names = [f"provider{number}" for number in range(12)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: accept_providers(file, [name]), names))
    assert set(tomllib.loads(file.read_text())["providers"]) == set(names)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_broken_file_is_not_touched(acr, file: Path) -> None:
    file.write_text("max_cost = ")
    done = acr("config", "set", "attempts", "2")
    assert done.returncode == 3
    assert file.read_text() == "max_cost = "


# --- init -------------------------------------------------------------------------------------------------

KEY = {"OPENAI_API_KEY": "sk-not-a-real-one"}


def test_init_without_anybody_to_ask_names_the_flag(acr, acr_home: Path) -> None:
    done = acr("config", "init", env=KEY)
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not (acr_home / "config.toml").exists()


def test_init_with_yes_accepts_and_keeps_what_is_there(acr, acr_home: Path) -> None:
    done = acr("config", "init", "--yes", env=KEY)
    assert (done.returncode, "accepted openai" in done.stdout) == (0, True)
    assert "sk-not" not in done.stdout + done.stderr + (acr_home / "config.toml").read_text()
    assert load().settings.providers == ("openai",)
    set_key(acr_home / "config.toml", "attempts", "9")
    assert f"wrote {acr_home}" in done.stdout
    assert "kept" in acr("config", "init", "--yes", env=KEY).stdout
    assert load().settings.attempts == 9


def test_init_finds_a_key_in_the_home(acr, acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / ".env").write_text("OPENAI_API_KEY=sk-not-a-real-one\n")
    assert "accepted openai" in acr("config", "init", "--yes").stdout


@pytest.mark.parametrize(
    ("answers", "want"),
    [
        (["y", "0.25", "20"], (("openai",), 0.25, 20.0)),
        (["n", "", ""], ((), 1.0, math.inf)),
        (["", "much", "$2", "little", "$9"], ((), 2.0, 9.0)),
    ],
)
def test_init_asks_on_a_terminal(
    acr_home: Path, monkeypatch, answers: list[str], want: tuple[tuple[str, ...], float, float]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY["OPENAI_API_KEY"])
    monkeypatch.setenv("ACR_SANDBOX", "none")
    child = pexpect.spawn(str(PROGRAM), ["config", "init"], encoding="utf-8", timeout=60)
    child.expect(r"send your code to openai\? \[y/N\] ")
    child.sendline(answers[0])
    for each in answers[1:]:
        child.expect(r"USD (for one run\? \[1\]|a month, all runs together\? \[no limit\]) ")
        child.sendline(each)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    settings = load().settings
    assert (settings.providers, settings.max_cost, settings.max_cost_month) == want
    assert {"providers", "max_cost"} <= settings.origins.keys()


def test_init_shows_what_is_here_with_prices(acr, acr_home: Path) -> None:
    done = acr("config", "init", "--yes", env={**KEY, "GROQ_API_KEY": "g", "ACR_SANDBOX": "none"})
    for words in ("OPENAI_API_KEY", "USD/M in", "openai/gpt-5.6", "sandbox", "git", "models add groq/NAME"):
        assert words in done.stdout
    assert "$1.00 at most" in done.stdout


def test_init_asks_nothing_where_all_is_settled(acr, acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text('max_cost = 2\nproviders = ["openai"]\n')
    done = acr("config", "init", env={**KEY, "ACR_SANDBOX": "none"})
    assert (done.returncode, "kept" in done.stdout) == (0, True)
    assert (acr_home / "config.toml").read_text() == 'max_cost = 2\nproviders = ["openai"]\n'


# --- get, unset, and a repository's own file --------------------------------------------------------------


def test_one_key_is_read_with_its_origin(acr, file: Path) -> None:
    assert acr("config", "get", "max_cost").stdout == "2\n"
    assert acr("config", "get", "max_cost", "--origin").stdout == f"2  # {file}, line 2\n"
    assert acr("config", "get", "image").stdout == "\n"
    done = acr("config", "get", "max_cots")
    assert (done.returncode, "did you mean 'max_cost'?" in done.stderr) == (2, True)


def test_a_key_that_is_unset_leaves_the_file_as_it_was(acr, acr_home: Path) -> None:
    path = acr_home / "config.toml"
    for key, text in (("max_cost", "3"), ("memory.bound", "9"), ("allow", "a,b")):
        set_key(path, key, text)
    for key in ("max_cost", "memory.bound", "allow"):
        assert acr("config", "unset", key).returncode == 0
    assert path.read_text() == template()
    assert "is not set in" in acr("config", "unset", "max_cost").stdout


def test_a_value_of_several_lines_is_unset_and_all_else_stays(file: Path) -> None:
    file.write_text(MINE.replace("bound = 100  # few", "") + "bound = 100  # few\n")
    file.write_text('allow = [\n  "a",\n]\n' + file.read_text())
    assert unset_key(file, "allow")
    assert (load().settings.allow, load().settings.memory_bound) == ((), 100)
    assert "# the good one" in file.read_text()


def test_a_repository_narrows_by_a_command(acr, acr_home: Path, git_repo) -> None:
    repo = git_repo({"a.py": "x = 1\n"})
    inner = repo / "deep"
    inner.mkdir()
    done = acr("config", "set", "--project", "allow", "openai/*", cwd=inner)
    assert (done.returncode, done.stdout) == (0, 'allow = ["openai/*"]\n')
    assert (repo / ".acr.toml").read_text() == 'allow = ["openai/*"]\n'
    assert (repo / ".acr.toml").stat().st_mode & 0o777 == 0o644
    assert not acr_home.exists()
    assert ".acr.toml, line 1" in acr("config", "get", "allow", "--origin", cwd=inner).stdout
    refused = acr("config", "set", "--project", "image", "x", cwd=repo)
    assert (refused.returncode, "may not set image" in refused.stderr) == (2, True)
    assert acr("config", "set", "--project", "allow", "x", cwd=acr_home.parent).returncode == 9


def test_fix_proposes_and_uses_nothing_unasked(acr, git_repo, acr_home: Path) -> None:
    done = acr(
        "fix", "add a function", "--sandbox", "none", "--yes", cwd=git_repo({"a.py": "x = 1\n"}), env=KEY
    )
    assert "openai could be used" in done.stderr
    assert "acr config init" in done.stderr
    assert not (acr_home / "config.toml").exists()


def test_fix_does_not_propose_again_what_was_declined(acr, git_repo, acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text("providers = []\n")
    repo = git_repo({"a.py": "x = 1\n"})
    assert "openai" not in acr("fix", "add a function", "--sandbox", "none", cwd=repo, env=KEY).stderr


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x7f")))
def test_any_text_is_written_so_that_toml_reads_it_back(text: str) -> None:
    assert tomllib.loads(f"x = {literal(text)}")["x"] == text
