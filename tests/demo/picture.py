"""The picture of the README, `acr fix` on the shop of the demo: `python -m tests.demo.picture FILE`.

The run is a real one, in a copy of the shop and with a home of its own; only the engine of this environment's
tests is shared. The picture loads no font and nothing else from anywhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

import pexpect
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

SHOP = Path(__file__).parent / "shop"
COLUMNS = 112
IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "demo@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def run() -> str:
    """What the run prints, with its colours. Raises: RuntimeError where it fixes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        shop = shutil.copytree(SHOP, Path(folder) / "shop", ignore=shutil.ignore_patterns("__pycache__"))
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "VIRTUAL_ENV": sys.prefix,
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            **IDENTITY,
        }
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a small shop"]):
            subprocess.run(["git", *command], cwd=shop, env=environment, check=True)
        acr = str(Path(sys.executable).parent / "acr")
        terminal = pexpect.spawn(
            acr,
            ["fix", "--allow", "builtin/repair", "--sandbox", "bubblewrap"],
            cwd=str(shop),
            env=environment,
            encoding="utf-8",
            timeout=300,
            dimensions=(60, COLUMNS),
        )
        printed = str(terminal.read())
        terminal.close()
        if terminal.exitstatus != 0:
            raise RuntimeError(printed)
        return settled(printed).replace(str(shop), "~/shop")


def settled(printed: str) -> str:
    """What stays on the screen: a spinner's line is overwritten by the next one. Pure."""
    kept = []
    for line in printed.replace("\r\n", "\n").split("\n"):
        last = re.sub(r"\x1b\[\?25[lh]|\x1b\[\d*A", "", re.split(r"\x1b\[2K|\r", line)[-1])
        if last or not line:
            kept.append(last)
    return "\n".join(kept)


def draw(printed: str) -> str:
    """The picture as SVG. Pure."""
    console = Console(
        record=True,
        file=StringIO(),
        width=COLUMNS,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    console.print(Text.assemble(("$ ", "bold green"), "acr fix"))
    console.print(Text.from_ansi(printed.rstrip()))
    frame = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="acr fix", theme=MONOKAI, code_format=frame, unique_id="acr-fix")


def words(picture: str) -> list[str]:
    """Its lines without what differs from run to run: names of runs, amounts, times. Pure."""
    lines: dict[str, str] = {}
    for place, text in re.findall(r'<text[^>]* y="([^"]*)"[^>]*>([^<]*)</text>', picture):
        lines[place] = lines.get(place, "") + text.replace("&#160;", " ")
    return [
        re.sub(r"\s+", " ", re.sub(r"[0-9a-f-]*\d[0-9a-f.,:-]*", "0", line)).strip()
        for line in lines.values()
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(run()), encoding="utf-8")
