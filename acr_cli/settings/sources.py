"""Where settings come from, one layer over another, and what a project may do."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.settings.keys import BY_NAME, KEYS, Key, checked, closest, nearest, parse
from acr_cli.settings.lines import flatten, line_of
from acr_cli.settings.models import model_entry
from acr_cli.settings.records import ModelEntry, Settings

PROJECT_FILE = ".acr.toml"
PROJECT_BYTES = 64 * 1024  # a longer project file is refused
USER_BYTES = 1024**2  # and a longer file of the user's
_NAMED, _NAME = 10, 60  # keys of one kind that a warning names, and characters of such a name
# The loosest value first.
_STRICTEST: Mapping[str, Sequence[object]] = {
    "sandbox": ("none", "bubblewrap", "auto", "docker"),  # `auto` is never looser than bubblewrap
    "network": ("on", "none"),
    "memory.store_text": (True, False),
    "approve": ("auto", "edits", "all"),
}
_DEFAULTS: Mapping[str, Any] = {f.name: getattr(Settings(home=Path()), f.name) for f in fields(Settings)}
_NARROWING = [key.name for key in KEYS if key.project]
_OTHER_VARIABLES = ("ACR_HOME", "ACR_CONFIG")
# Variables of the shells, of tests and of CI that begin with ACR_ but are no settings.
_FOREIGN_VARIABLES = ("ACR_CI", "ACR_TEST_*", "ACR_UPDATE_*", "ACR_DEMO_*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """Settings, and what the user should hear about the files that they came from."""

    settings: Settings
    warnings: tuple[str, ...] = ()


# --- reading ----------------------------------------------------------------------------------------------


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """`ACR_HOME`, or `~/.acr`.

    Raises: ConfigurationError where there is no home directory."""
    given = environ.get("ACR_HOME", "")
    try:
        return Path(given or "~/.acr").expanduser().absolute()
    except RuntimeError as error:
        raise ConfigurationError(
            f"{given or '~/.acr'} cannot be found: there is no such home directory.",
            hint="Set ACR_HOME to a folder in which acr may keep its files.",
        ) from error


def user_file(environ: Mapping[str, str] = os.environ, *, config: Path | None = None) -> Path:
    """The user's config file: `--config`, else `ACR_CONFIG`, else `config.toml` in the home folder."""
    if config is not None:
        return config
    given = environ.get("ACR_CONFIG", "")
    return Path(given).expanduser().absolute() if given else home_folder(environ) / "config.toml"


def load(
    *,
    where: Path | None = None,
    config: Path | None = None,
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Loaded:
    """Settings for a command that is run in `where`; `flags` are by field, and None is a flag not given.

    Raises: ConfigurationError, naming file, line and key; UsageError for a flag."""
    path = user_file(environ, config=config)
    if config is not None and not path.is_file():
        raise ConfigurationError(f"There is no config file {path}.", hint="Check the path after --config.")
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    warnings: list[str] = []
    tables, text = _read_toml(path) if _is_there(path) else ({}, "")
    models = _take_user(tables, text, path, values, origins)
    if (project := project_file(where)) is not None:
        warnings += _take_project(project, values, origins)
    warnings += _take_environment(environ, values, origins)
    _take_flags(flags or {}, values, origins)
    return Loaded(
        settings=Settings(home=home_folder(environ), models=models, origins=origins, **values),
        warnings=tuple(warnings),
    )


def load_environment(environ: Mapping[str, str] = os.environ, *, home: Path | None = None) -> dict[str, str]:
    """Variables that may hold keys: `.env` in the home folder, and over it the environment itself.

    A repository's `.env` is never read. Raises: ConfigurationError for a line that is no KEY=VALUE."""
    path = (home or home_folder(environ)) / ".env"
    return {**(dict(_dotenv(path)) if path.is_file() else {}), **environ}


def _dotenv(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        text = line.strip().removeprefix("export ").strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name.strip()):
            raise ConfigurationError(f"{path}, line {number}: not of the form KEY=VALUE.")
        value = value.strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        else:
            value = re.split(r"(?<!\s)\s+#", value, maxsplit=1)[0]
        yield name.strip(), value


def project_file(where: Path | None) -> Path | None:
    """`.acr.toml` at the root of the git repository around `where`, if it is a regular file."""
    if where is None:
        return None
    for folder in (where.absolute(), *where.absolute().parents):
        if (folder / ".git").exists():
            path = folder / PROJECT_FILE
            return path if path.is_file() and not path.is_symlink() else None
    return None


def _is_there(path: Path) -> bool:
    """Whether there is something at a path; what cannot be asked is there, and reading it says why not."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path.is_symlink()
    except OSError:
        return True
    return True


def text_of(path: Path) -> str:
    """What a file of the user's says, without the mark that some editors put in front of UTF-8.

    Raises: ConfigurationError; also for what never ends, such as a pipe, and for what is too long."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise ConfigurationError(f"{path} cannot be read: it is no file.")
        if path.is_file() and path.stat().st_size > USER_BYTES:
            raise ConfigurationError(f"{path} is larger than {USER_BYTES // 1024} KiB.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not UTF-8 text.") from error


def _read_toml(path: Path) -> tuple[dict[str, Any], str]:
    text = text_of(path)
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise ConfigurationError(f"{path} is not valid TOML: it is nested too deeply.") from error


# --- the layers -------------------------------------------------------------------------------------------


def _take_user(
    tables: dict[str, Any], text: str, path: Path, values: dict[str, Any], origins: dict[str, str]
) -> tuple[ModelEntry, ...]:
    models: list[ModelEntry] = []
    for name, value in flatten(tables):
        place = f"{path}, line {line_of(text, name)}"
        if name == "model" and isinstance(value, list):
            models = [model_entry(entry, str(path), text, number) for number, entry in enumerate(value)]
            origins["models"] = str(path)
            continue
        key = BY_NAME.get(name)
        if key is None:
            raise ConfigurationError(f"{place}: unknown key {name!r}{nearest(name, [*BY_NAME, 'model'])}")
        if not key.file:
            raise ConfigurationError(f"{place}: models are listed as tables, [[{name}]].")
        values[key.field] = checked(key, value, place)
        origins[name] = place
    repeated = {m.id for m in models if sum(o == m for o in models) > 1}
    if repeated:
        raise ConfigurationError(f"{path}: {', '.join(sorted(repeated))} is listed twice.")
    return tuple(models)


def _take_project(path: Path, values: dict[str, Any], origins: dict[str, str]) -> list[str]:
    if path.stat().st_size > PROJECT_BYTES:
        raise ConfigurationError(f"{path} is larger than {PROJECT_BYTES // 1024} KiB.")
    tables, text = _read_toml(path)
    foreign, wider, unknown = [], [], []
    for name, value in flatten(tables):
        line = line_of(text, name)
        place, said = f"{path}, line {line}", f"{name[:_NAME]!r} (line {line}"
        key = BY_NAME.get(name)
        if key is None:
            near = closest(name, _NARROWING)
            unknown.append(said + (f"; did you mean {near!r}?)" if near else ")"))
        elif not key.project:
            foreign.append(f"{said})")
        else:
            mine = values.get(key.field, _DEFAULTS[key.field])
            theirs = checked(key, value, place)
            narrow = _narrower(key, mine, theirs, place)
            if narrow != mine:
                values[key.field] = narrow
                origins[name] = place
            elif theirs != mine and key.project in ("min", "strict"):
                wider.append(f"{said}; {json.dumps(mine)} holds)")
    ignored = {"which a project may not set": foreign, "which it may only narrow": wider, "unknown": unknown}
    parts = [f"{_some(names)}, {why}" for why, names in ignored.items() if names]
    return [f"{path}: ignored keys: {'; '.join(parts)}."] if parts else []


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _narrower(key: Key, mine: Any, theirs: Any, place: str) -> Any:
    match key.project:
        case "min":
            return min(mine, theirs)
        case "union":
            return tuple(dict.fromkeys((*mine, *theirs)))
        case "strict":
            order = list(_STRICTEST[key.name])
            # How strict an installed part is, nobody can tell: it stays as the user has it.
            return max(mine, theirs, key=order.index) if {mine, theirs} <= set(order) else mine
        case _:
            if not mine or not theirs:
                return theirs or mine
            both = [t for t in theirs if any(_within(t, m) for m in mine)]
            both += [m for m in mine if any(_within(m, t) for t in theirs)]
            if not both:
                raise ConfigurationError(
                    f"{place}: the project allows no model that your own settings allow.",
                    hint="Name the models of this run with --allow.",
                )
            return tuple(dict.fromkeys(both))


def _within(inner: str, outer: str) -> bool:
    """Whether all names that one pattern fits surely fit another one. Pure.

    A sign that stands in no pattern takes the place of inner wildcards, from none for a `*` to more than
    `outer` is long: only a wildcard of `outer` fits it."""
    if inner == outer:
        return True
    if "[" in outer:
        return False
    one = re.sub(r"\[!?\]?[^\]]*\]|\?", "\0", inner)
    return all(fnmatchcase(one.replace("*", "\0" * length), outer) for length in range(len(outer) + 2))


def _take_environment(
    environ: Mapping[str, str], values: dict[str, Any], origins: dict[str, str]
) -> list[str]:
    by_variable = {key.variable: key for key in KEYS}
    known = [*by_variable, *_OTHER_VARIABLES]
    warnings = []
    for name in sorted(environ):
        if key := by_variable.get(name):
            values[key.field] = parse(key, environ[name], name)
            origins[key.name] = name
        elif name.startswith("ACR_") and not any(fnmatchcase(name, f) for f in (*known, *_FOREIGN_VARIABLES)):
            warnings.append(f"{name} in the environment is unknown and ignored{nearest(name, known)}")
    return warnings


def given_flags(settings: Settings) -> dict[str, Any]:
    """What was given as flags, by field, to be given again."""
    names = [name for name, place in settings.origins.items() if place.startswith("--")]
    by_field = {BY_NAME[name].field if name in BY_NAME else name for name in names}
    values = {name: getattr(settings, name) for name in sorted(by_field)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _take_flags(flags: Mapping[str, object], values: dict[str, Any], origins: dict[str, str]) -> None:
    by_field = {key.field: key for key in KEYS}
    for name, value in flags.items():
        if value is None:
            continue
        flag = "--" + name.replace("_", "-")
        key = by_field.get(name)
        if key is None:
            values[name] = value
        elif isinstance(value, str):
            values[name] = parse(key, value, flag, UsageError)
        else:
            values[name] = checked(key, value, flag, UsageError)
        origins[key.name if key else name] = flag
