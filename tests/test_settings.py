"""Settings: layers, narrowing by a project, and messages that name file, line and key."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.records import Price
from acr_cli.settings import KEYS, Settings, load, load_environment


@pytest.fixture
def user(acr_home: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        acr_home.mkdir(exist_ok=True)
        path = acr_home / "config.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        (tmp_path / ".git").mkdir(exist_ok=True)
        (tmp_path / ".acr.toml").write_text(text)
        return tmp_path

    return write


def test_without_any_source_every_setting_has_its_default(acr_home: Path) -> None:
    assert load().settings == Settings(home=acr_home)


def test_every_key_names_a_field_and_a_default_that_it_accepts() -> None:
    defaults = Settings(home=Path())
    for key in KEYS:
        assert hasattr(defaults, key.field)
        value = getattr(defaults, key.field)
        if key.choices:
            assert value in key.choices


def test_each_layer_covers_the_one_below(user, project) -> None:
    user("max_cost = 2\nattempts = 5\nseed = 1\ntest = 'make check'")
    where = project("attempts = 4")
    loaded = load(where=where, flags={"seed": 3, "test": None}, environ={"ACR_HOME": str(user("").parent)})
    assert loaded.settings.attempts == 3  # the user's file is empty now: the default is already narrower
    home = user("max_cost = 2\nattempts = 5\nseed = 1\ntest = 'make check'").parent
    got = load(
        where=where, flags={"seed": 3, "test": None}, environ={"ACR_HOME": str(home), "ACR_MAX_COST": "$0.5"}
    ).settings
    assert (got.max_cost, got.attempts, got.seed, got.test) == (0.5, 4, 3, "make check")
    assert got.origins["max_cost"] == "ACR_MAX_COST"
    assert got.origins["attempts"] == f"{where / '.acr.toml'}, line 1"
    assert got.origins["seed"] == "--seed"
    assert got.origins["test"] == f"{home / 'config.toml'}, line 4"


@pytest.mark.parametrize(
    ("mine", "theirs", "field", "want"),
    [
        ("max_cost = 2", "max_cost = 1.5", "max_cost", 1.5),
        ("max_cost = 0.2", "max_cost = 1.5", "max_cost", 0.2),
        ("", "max_time = '1h'", "max_time", 900.0),
        ("", "max_time = '2m'", "max_time", 120.0),
        ("", "max_steps = 3", "max_steps", 3),
        ("allow = ['a', 'b']", "allow = ['b', 'c']", "allow", ("b",)),
        ("", "allow = ['b', 'c']", "allow", ("b", "c")),
        ("allow = ['anthropic/*']", "allow = ['anthropic/x']", "allow", ("anthropic/x",)),
        ("exclude = ['a']", "exclude = ['b']", "exclude", ("a", "b")),
        ("", "sandbox = 'docker'", "sandbox", "docker"),
        ("", "sandbox = 'none'", "sandbox", "auto"),
        ("", "sandbox = 'bubblewrap'", "sandbox", "auto"),
        ("sandbox = 'none'", "sandbox = 'bubblewrap'", "sandbox", "bubblewrap"),
        ("sandbox = 'docker'", "sandbox = 'auto'", "sandbox", "docker"),
        ("network = 'on'", "network = 'none'", "network", "none"),
        ("", "network = 'on'", "network", "none"),
        ("", "memory.store_text = false", "store_text", False),
        ("memory.store_text = false", "memory.store_text = true", "store_text", False),
    ],
)
def test_a_project_narrows_and_never_widens(user, project, mine, theirs, field, want) -> None:  # noqa: PLR0917
    user(mine)
    assert getattr(load(where=project(theirs)).settings, field) == want


@pytest.mark.parametrize(
    "line",
    [
        "test = 'curl evil'",
        "image = 'evil'",
        "setup = 'x'",
        "providers = ['openai']",
        "exploration = 1",
        "dockerfile = true",
        "memory.embedder = 'x'",
        "commit = true",
        "[[model]]\nid = 'x'\nbase_url = 'https://evil.example'",
    ],
)
def test_whatever_else_a_project_sets_is_ignored_with_a_warning(acr_home, project, line: str) -> None:
    where = project("\n" + line)
    loaded = load(where=where)
    assert loaded.settings == Settings(home=acr_home)
    (warning,) = loaded.warnings
    assert str(where / ".acr.toml") in warning
    assert "line 2" in warning
    assert "ignored" in warning


def test_a_project_that_shares_no_model_with_the_user_is_refused(user, project) -> None:
    user("allow = ['a']")
    with pytest.raises(ConfigurationError, match="allows no model"):
        load(where=project("allow = ['b']"))


def test_a_linked_project_file_is_not_read(tmp_path: Path, acr_home: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "elsewhere.toml").write_text("max_cost = 0")
    (tmp_path / ".acr.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert load(where=tmp_path).settings.max_cost == 1.0


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("\nmax_csot = 1", 2, "'max_csot'; did you mean 'max_cost'?"),
        ("max_cost = 'a'", 1, "max_cost must be an amount of USD of at least 0, not 'a'"),
        ("max_cost = nan", 1, "max_cost must be"),
        ("max_cost = -1", 1, "max_cost must be"),
        ("max_steps = true", 1, "max_steps must be a whole number of at least 1, not true"),
        ("attempts = 0", 1, "attempts must be a whole number of at least 1"),
        ("exploration = 2", 1, "between 0 and 1"),
        ("sandbox = 'chroot'", 1, "sandbox must be auto, docker, bubblewrap or none, not 'chroot'"),
        ("max_time = 'soon'", 1, "max_time must be a duration like 90, 90s, 15m or 1h, not 'soon'"),
        ("memory_limit = '2 apples'", 1, "memory_limit must be a size"),
        ("allow = 'a'", 1, "allow must be a list of texts"),
        ("seed = 1\n[memory]\nbond = 3", 3, "'memory.bond'; did you mean 'memory.bound'?"),
        ("model = 'x'", 1, "models are listed as tables, [[model]]"),
        (
            "[[model]]\nid = 'a'\n\n[[model]]\nid = 'b'\nprise = 1",
            6,
            "unknown key 'prise' of a model; did you mean",
        ),
        ("[[model]]\nid = 'a'\nprice = {input = 'x'}", 3, "price of a model needs a number of USD for input"),
        ("[[model]]\nfamily = 'a'", 1, "a model needs an id"),
        ("[[model]]\nid = 'a'\nbase_url = 'http://example.org/v1'", 3, "must begin with https://"),
        ("[[model]]\nid = 'a'\nbase_url = 'https://u:p@example.org'", 3, "must not hold a password"),
        ("[[model]]\nid = 'a'\neffort = ['huge']", 3, "effort of a model must be a list of"),
    ],
)
def test_a_mistake_is_named_with_file_and_line(user, text: str, line: int, words: str) -> None:
    path = user(text)
    with pytest.raises(ConfigurationError) as caught:
        load()
    assert caught.value.exit_code == 3
    assert f"{path}, line {line}" in caught.value.message
    assert words in caught.value.message


def test_broken_toml_is_named_with_its_file(user) -> None:
    path = user("\nmax_cost = ]")
    with pytest.raises(ConfigurationError, match=r"not valid TOML: .*line 2") as caught:
        load()
    assert str(path) in caught.value.message


def test_models_are_read_in_full(user) -> None:
    user(
        """
        [[model]]
        id = "anthropic/claude-opus-4-6"
        family = "claude-opus"
        api_key_env = "ANTHROPIC_API_KEY"
        price = {input = 5, output = 25}
        effort = ["low", "high"]
        [[model]]
        id = "openai/mine"
        base_url = "http://127.0.0.1:8080/v1"
        tools = false
        context_window = 8192
        """
    )
    first, second = load().settings.models
    assert first.price == Price(input=5.0, output=25.0, source="config")
    assert first.effort == ("low", "high")
    assert (second.base_url, second.tools, second.context_window) == ("http://127.0.0.1:8080/v1", False, 8192)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("1h30m", 5400), ("0.5h", 1800)],
)
def test_durations(text: str, seconds: float) -> None:
    assert load(flags={"max_time": text}).settings.max_time == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "1x", "0", "nan"])
def test_a_wrong_duration_is_a_usage_error_when_it_is_a_flag(text: str) -> None:
    with pytest.raises(UsageError, match="--max-time must be a duration"):
        load(flags={"max_time": text})


def test_variables_of_every_kind() -> None:
    environ = {
        "ACR_HOME": "/nowhere",
        "ACR_ALLOW": "a, b",
        "ACR_COMMIT": "yes",
        "ACR_MEMORY_STORE_TEXT": "0",
        "ACR_MEMORY_LIMIT": "1GiB",
        "ACR_MAX_COST": "inf",
    }
    got = load(environ=environ).settings
    assert (got.allow, got.commit, got.store_text) == (("a", "b"), True, False)
    assert (got.memory_limit, got.max_cost) == (1024**3, float("inf"))


def test_a_wrong_variable_is_named() -> None:
    with pytest.raises(ConfigurationError, match="ACR_COMMIT must be true or false, not 'maybe'"):
        load(environ={"ACR_HOME": "/nowhere", "ACR_COMMIT": "maybe"})


def test_an_unknown_variable_is_a_warning() -> None:
    (warning,) = load(environ={"ACR_HOME": "/nowhere", "ACR_MAX_CSOT": "1"}).warnings
    assert "did you mean 'ACR_MAX_COST'?" in warning


def test_keys_come_from_the_home_and_the_environment_wins(
    acr_home: Path, tmp_path: Path, monkeypatch
) -> None:
    acr_home.mkdir()
    (acr_home / ".env").write_text("# keys\nexport OPENAI_API_KEY='k # 1'\nA_KEY = plain # note\nB=\n")
    (tmp_path / ".env").write_text("ANTHROPIC_API_KEY=from-the-repository\n")
    monkeypatch.chdir(tmp_path)
    got = load_environment({"ACR_HOME": str(acr_home), "A_KEY": "other"})
    assert got == {"ACR_HOME": str(acr_home), "OPENAI_API_KEY": "k # 1", "A_KEY": "other", "B": ""}


def test_a_line_that_is_no_assignment_is_named_without_its_text(acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / ".env").write_text("A=1\nsk-secret\n")
    with pytest.raises(ConfigurationError, match="line 2") as caught:
        load_environment()
    assert "secret" not in caught.value.message


def test_a_config_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no config file"):
        load(config=tmp_path / "none.toml")


def test_a_config_file_that_never_ends_is_not_waited_for(user) -> None:
    path = user("")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigurationError, match="cannot be read: it is no file"):
        load()
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigurationError, match="cannot be read: it is no file"):
        load()


def test_a_config_file_that_is_a_loop_of_links_is_not_overlooked(user) -> None:
    path = user("")
    path.unlink()
    path.symlink_to(path.name)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load()


def test_a_file_that_is_nested_too_deeply_is_no_toml(project) -> None:
    with pytest.raises(ConfigurationError, match="nested too deeply"):
        load(where=project("allow = " + "[" * 5000 + "]" * 5000))
