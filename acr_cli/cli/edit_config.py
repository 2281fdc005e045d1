"""Changes to the config file that keep its comments; written whole or not at all, for its owner only."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from acr_cli.cli.toml import literal
from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.settings import BY_NAME, KEYS, Key, Settings, parse
from acr_cli.settings.keys import nearest
from acr_cli.settings.lines import flatten
from acr_cli.settings.sources import text_of

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


P = ParamSpec("P")
T = TypeVar("T")


def _alone(change: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
    """A change of a file, made so that another acr that changes it at the same moment waits: nothing is lost.

    The folder itself is locked: no file is left in it. Where a file system has no locks, nobody waits."""

    @functools.wraps(change)
    def locked(path: Path, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            folder = path.resolve().parent
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(folder, os.O_RDONLY)
        except (OSError, RuntimeError) as error:
            raise _unwritable(path, error) from error
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            return change(path, *args, **kwargs)
        finally:
            os.close(descriptor)

    return locked


@_alone
def set_key(path: Path, name: str, text: str) -> object:
    """Set one key and return what stands in the file now. Raises: UsageError, ConfigurationError."""
    key = _known(name)
    value = as_written(key, text, parse(key, _encodable(name, text), name, UsageError))
    document = _read(path)
    table, _, last = name.rpartition(".")
    home = _table(path, document, table)
    if last not in home and (changed := uncommented(document.as_string(), name, value)):
        write_text(path, changed)
        return value
    if table:
        home = document.setdefault(table, {})
    home[last] = value
    _write(path, document)
    return value


def _table(path: Path, document: TOMLDocument, name: str) -> Any:
    """One table of a file, {} where it is not there. Raises: ConfigurationError where it is no table."""
    table = document.get(name, {}) if name else document
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"{path}: {name!r} is no table.", hint=f"Write [{name}] there.")
    return table


def _listed(path: Path, document: TOMLDocument, name: str) -> Any:
    """One list of a file, [] where it is not there. Raises: ConfigurationError where it is none."""
    listed: Any = document.get(name, [])
    if not isinstance(listed, list):
        raise ConfigurationError(f"{path}: {name!r} is no list.")
    return listed


def uncommented(text: str, name: str, value: object) -> str:
    """A config file whose commented line of a key now sets it; "" where there is no such line. Pure."""
    table, _, last = name.rpartition(".")
    here, lines = "", text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        if header := _HEADER.match(line):
            here = header[1]
        elif here == table and (found := re.fullmatch(_COMMENTED.format(key=re.escape(last)), line)):
            lines[number] = f"{last} = {literal(value)}{found[1]}\n"
            changed = "".join(lines)
            return changed if _says(changed, name, value) else ""
    return ""


@_alone
def unset_key(path: Path, name: str) -> bool:
    """Take one key out of the file, whose line then says the default; whether it was there.

    Raises: UsageError, ConfigurationError."""
    key = _known(name)
    document = _read(path)
    table, _, last = name.rpartition(".")
    home = _table(path, document, table)
    if not path.exists() or last not in home:
        return False
    default = getattr(Settings(home=Path()), key.field)
    line = f"# {last} = {literal(default) if default is not None else '...'}  # {key.about}\n"
    lines = document.as_string().splitlines(keepends=True)
    here = ""
    for number, each in enumerate(lines):
        if header := _HEADER.match(each):
            here = header[1]
        elif here == table and re.match(rf"\s*{re.escape(last)}\s*=", each):
            changed = "".join([*lines[:number], line, *lines[number + 1 :]])
            if _says(changed, name, None):
                write_text(path, changed)
                return True
    del home[last]  # a value of several lines
    _write(path, document)
    return True


def _known(name: str) -> Key:
    """Raises: UsageError for what no config file may hold."""
    key = BY_NAME.get(name)
    if key is None or not key.file:
        raise UsageError(
            f"There is no key {name!r}{nearest(name, [k.name for k in KEYS if k.file])}",
            hint="`acr config show` lists all keys.",
        )
    return key


_HEADER = re.compile(r"\s*\[+\s*([\w.-]+)\s*\]+")
_COMMENTED = r"#\s*{key}\s*=.*?(\s*#[^\"'\n]*)?\n?"


def _says(text: str, name: str, value: object) -> bool:
    """Whether a text is TOML that gives a key this value; a line inside a longer text does not. Pure."""
    try:
        return dict(flatten(tomllib.loads(text))).get(name) == value
    except tomllib.TOMLDecodeError:
        return False


@_alone
def set_in_project(path: Path, name: str, text: str) -> object:
    """The same in a repository's own file, which may hold few keys.

    Raises: UsageError, ConfigurationError."""
    import tomlkit

    key = _known(name)
    if not key.project:
        names = ", ".join(k.name for k in KEYS if k.project)
        raise UsageError(f"A repository may not set {name}.", hint=f"It may narrow {names}.")
    if path.is_symlink():
        raise UsageError(f"{path} is a link, which acr does not follow.", hint="Put a file in its place.")
    value = as_written(key, text, parse(key, _encodable(name, text), name, UsageError))
    document = _read(path) if path.exists() else tomlkit.document()
    table, _, last = name.rpartition(".")
    if table:
        _table(path, document, table)
        document.setdefault(table, {})
    home = _table(path, document, table)
    home[last] = value
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    _write(path, document)
    path.chmod(mode)
    return value


def _encodable(name: str, text: str) -> str:
    """The text. Raises: UsageError for bytes that are no text, which the shell passed on."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"The value of {name} is not UTF-8 text.") from None
    return text


def as_written(key: Key, text: str, value: object) -> object:
    """A value as it stands in the file: durations and sizes keep their unit. Pure."""
    if key.kind in ("duration", "size") and not text.strip().replace(".", "").isdigit():
        return text.strip()
    if isinstance(value, tuple):
        return list(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


@_alone
def add_model(path: Path, entry: Mapping[str, object]) -> None:
    """Append a `[[model]]`. Raises: ConfigurationError."""
    import tomlkit

    document = _read(path)
    table = tomlkit.table()
    for name, value in entry.items():
        if isinstance(value, Mapping):
            inline = tomlkit.inline_table()
            inline.update(value)
            table[name] = inline
        else:
            table[name] = value
    if "model" not in document:
        document["model"] = tomlkit.aot()
    models = _listed(path, document, "model")
    models.append(table)
    _write(path, document)


@_alone
def remove_model(path: Path, identifier: str) -> int:
    """Remove every `[[model]]` of this id; how many there were. Raises: ConfigurationError."""
    document = _read(path)
    models = _listed(path, document, "model")
    places = [n for n, model in enumerate(models) if model.get("id") == identifier]
    for place in reversed(places):
        del models[place]
    if places:
        if not models:
            del document["model"]
        _write(path, document)
    return len(places)


@_alone
def accept_providers(path: Path, names: Sequence[str]) -> None:
    """Add to the accepted providers. Raises: ConfigurationError."""
    document = _read(path)
    known = [str(name) for name in _listed(path, document, "providers")]
    document["providers"] = [*known, *(name for name in names if name not in known)]
    _write(path, document)


@_alone
def reject_provider(path: Path, name: str) -> bool:
    """Take one of the accepted providers back; whether it was one. Raises: ConfigurationError."""
    document = _read(path)
    known = [str(each) for each in _listed(path, document, "providers")]
    if name not in known:
        return False
    if left := [each for each in known if each != name]:
        document["providers"] = left
    else:
        del document["providers"]  # an empty list would say no to all providers
    _write(path, document)
    return True


def template() -> str:
    """A config file in which every key stands, commented out, with its default. Pure."""
    defaults = Settings(home=Path())
    lines = ["# Settings of acr. A line that begins with # says the default.", ""]
    table = ""
    for key in KEYS:
        if not key.file:
            continue
        prefix, _, last = key.name.rpartition(".")
        if prefix != table:
            lines += ["", f"[{prefix}]"]
            table = prefix
        value = getattr(defaults, key.field)
        lines.append(f"# {last} = {literal(value) if value is not None else '...'}  # {key.about}")
    lines += [
        "",
        "# A model, as often as needed. Prices are in USD per million tokens.",
        "# [[model]]",
        '# id = "openai/my-model"',
        '# base_url = "http://localhost:8080/v1"',
        '# api_key_env = "MY_KEY"',
        "# price = {input = 0.5, output = 1.5}",
    ]
    return "\n".join(lines) + "\n"


@_alone
def create(path: Path) -> bool:
    """Write the template where no file is; whether it was written. Raises: ConfigurationError."""
    if path.exists():
        return False
    write_text(path, template())
    return True


def _read(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text_of(path) if path.exists() else template())
    except TOMLKitError as error:
        raise ConfigurationError(f"{path} is not valid TOML: {error}.") from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error


def _write(path: Path, document: TOMLDocument) -> None:
    import tomlkit

    write_text(path, _apart(tomlkit.dumps(document)))


def _apart(text: str) -> str:
    """The same with a blank line before each table that has a value right above it. Pure."""
    spread = re.sub(r"(?m)^(?!#)(.*\S.*)\n(?=\[+[\w.-]+\]+\s*(?:#.*)?$)", r"\1\n\n", text)
    return spread if tomllib.loads(spread) == tomllib.loads(text) else text


def write_text(path: Path, text: str) -> None:
    """Replace a file at once, with mode 0600; a link is followed. Raises: ConfigurationError."""
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: Exception) -> ConfigurationError:
    if isinstance(error, FileExistsError):
        return ConfigurationError(f"{path} cannot be written: {error.filename} is no folder.")
    reason = getattr(error, "strerror", None) or str(error)
    return ConfigurationError(f"{path} cannot be written: {reason}.")
