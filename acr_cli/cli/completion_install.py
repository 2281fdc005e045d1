"""Where a shell looks for the completion of acr, and how it gets there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from acr_cli.cli.edit_config import write_text

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
    home = Path(environ.get("HOME") or Path.home())
    start = home / _START[shell]
    try:
        if "acr completion" in start.read_text(encoding="utf-8", errors="replace"):
            return str(start)
    except OSError:
        pass
    own = own_place(shell, environ)
    system = [Path(prefix, name) for prefix in ("/usr", "/usr/local") for name in _SYSTEM[shell]]
    return next((str(place) for place in (own, *system) if place.is_file()), "")


def install(shell: str, environ: Mapping[str, str]) -> str:
    """Write a shell's completion where it looks, and say what is left to do. Raises: ConfigurationError."""
    from acr_cli.cli.completion import script

    place = own_place(shell, environ)
    write_text(place, script(shell))
    place.chmod(0o644)
    left = {
        "bash": "; it needs the package bash-completion, and a new shell",
        "zsh": "; ~/.zshrc needs before compinit: fpath=(~/.zfunc $fpath)",
        "fish": "; it counts at once",
    }
    return f"wrote {place}{left[shell]}"
