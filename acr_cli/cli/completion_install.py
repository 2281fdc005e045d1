"""Where a shell looks for the completion of acr, and how it gets there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from acr_cli.cli.edit_config import write_text
from acr_cli.errors import ConfigurationError

SHELLS = ("bash", "zsh", "fish")
_START = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
_SYSTEM = {
    "bash": ("share/bash-completion/completions/acr",),
    "zsh": ("share/zsh/site-functions/_acr", "share/zsh/vendor-completions/_acr"),
    "fish": ("share/fish/vendor_completions.d/acr.fish", "share/fish/completions/acr.fish"),
}


def shell_in_use(environ: Mapping[str, str]) -> str:
    """The name of the user's shell, "" for one without completion of ours. Pure."""
    name = Path(environ.get("SHELL", "")).name
    return name if name in SHELLS else ""


def own_place(shell: str, environ: Mapping[str, str]) -> Path:
    """The file of the user's own in which a shell looks. Pure."""
    home = Path(environ.get("HOME") or Path.home())
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "bash": data / "bash-completion/completions/acr",
        "zsh": home / ".zfunc/_acr",
        "fish": config / "fish/completions/acr.fish",
    }[shell]


def installed_at(shell: str, environ: Mapping[str, str]) -> str:
    """Where the completion is that a shell finds, "" where it finds none."""
    start = _start_file(shell, environ)
    try:
        said = start.read_text(encoding="utf-8", errors="replace")
    except OSError:
        said = ""
    if "acr completion" in said:
        return str(start)
    own = own_place(shell, environ)
    # zsh looks in a folder of the user's only where it is told to.
    mine = () if shell == "zsh" and own.parent.name not in said else (own,)
    system = [Path(prefix, name) for prefix in ("/usr", "/usr/local") for name in _SYSTEM[shell]]
    return next((str(place) for place in (*mine, *system) if place.is_file()), "")


def question(shell: str, environ: Mapping[str, str]) -> str:
    """What is asked before it is installed: every file that will be written stands in it."""
    start = f", and have {_start_file(shell, environ)} look for it" if shell == "zsh" else ""
    return f"Install the completion of {shell} as {own_place(shell, environ)}{start}?"


def install(shell: str, environ: Mapping[str, str]) -> str:
    """Write a shell's completion where it looks, and say what is left to do. Raises: ConfigurationError."""
    from acr_cli.cli.completion import script

    place = own_place(shell, environ)
    write_text(place, script(shell))
    place.chmod(0o644)
    if shell == "zsh":
        _tell_zsh(_start_file(shell, environ))
    left = {
        "bash": "; it needs the package bash-completion, and a new shell",
        "zsh": f"; {_start_file('zsh', environ)} says where it is, a new shell knows it",
        "fish": "; it counts at once",
    }
    return f"wrote {place}{left[shell]}"


def _start_file(shell: str, environ: Mapping[str, str]) -> Path:
    """What a shell reads when it starts. Pure."""
    home = Path(environ.get("HOME") or Path.home())
    return (Path(environ.get("ZDOTDIR") or home) if shell == "zsh" else home) / _START[shell]


def _tell_zsh(start: Path) -> None:
    """Name the folder before all else, as whatever sets completion up reads it; set it up where nothing does.

    Raises: ConfigurationError where the file cannot be read as text, or written."""
    try:
        said = start.read_text(encoding="utf-8") if start.exists() else ""
        mode = start.stat().st_mode & 0o777 if start.exists() else 0o644
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{start} cannot be read: {error}.", hint=f"Write in it, before compinit: {_FPATH}"
        ) from error
    if ".zfunc" in said:
        return
    after = "" if re.search(r"(?m)^[^#\n]*\bcompinit\b", said) else f"\n{_COMPINIT}\n"
    write_text(start, f"{_FPATH}\n{said}{after}")
    start.chmod(mode)


_FPATH = "fpath=(~/.zfunc $fpath)  # where the completion of acr is"
_COMPINIT = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }  # sets completion up"
