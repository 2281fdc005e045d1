"""What a model writes, by each way that it has, stays in the run's tree; all else is refused and named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from acr_cli.agent.backend import Agent
from acr_cli.agent.budget import RunBudget
from acr_cli.events import ToolCalled
from acr_cli.protocols import Limits, Recipe
from acr_cli.sandbox.choose import open_sandbox
from acr_cli.testing.answers import call
from acr_cli.testing.scripted import ScriptedModel
from acr_cli.toolchains.python import Python
from acr_cli.toolchains.python_detect import read_text
from acr_cli.worktree.tree import RunTree
from tests.agent.conftest import candidate, step

DONE = call("finish", {"summary": "Did as I was told."})
PATHS = (
    *("/etc/cron.d/evil", "//etc/evil", "../evil", "a/../../evil", "..", ".", "", "/", "~/../evil"),
    *("out/evil", "chain/evil", "out", "loop", "inner", "file-out", "self/out/evil"),
    *(".git/hooks/pre-commit", ".GIT/config", "sub/.git/config", "git~1/config", ".git./x", ".g\u200cit/x"),
    *(".git::$INDEX_ALLOCATION", "\ufeff.git/x", "nul\0byte", "new\nline", "esc\x1b]0;x\x07", "del\x7f"),
    *("con", "aux.py", "COM1.txt", "C:\\evil", "C:evil", "\\\\server\\share", "a\\..\\..\\evil"),
    *("n" * 300, "d/" * 2100 + "x", "\ud800"),
    *("NUL.txt", "nul .txt", "CON.", "lpt\u00b9", "CONOUT$", "a.py.", "a.py ", "new.py:stream", "what?.py"),
    *(
        "CALC.py",
        "\uff43alc.py",
        "calc\u200b.py",
        "\u202eyp.evil",
        "Test_Calc.py",
        ".git\u200c/x",
        ".Git \u200d/x",
    ),
)


def before(tree: RunTree, outside: Path) -> None:
    """Links of every kind lie in the tree, as a repository may hold them."""
    (tree.root / "out").symlink_to(outside)
    (tree.root / "chain").symlink_to("out")
    (tree.root / "loop").symlink_to("loop")
    (tree.root / "self").symlink_to(".")
    (tree.root / "inner").symlink_to(tree.directory / "config")
    (tree.root / "file-out").symlink_to(outside / "mine.txt")


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of all that lies below a folder; links by their target."""
    return {
        path.relative_to(folder).as_posix(): (
            path.lstat().st_mode,
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes(),
        )
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine\n")
    return folder


def refusals(script: list[Any], tree: RunTree, sandbox: Any, budget: RunBudget, **who: Any) -> list[str]:
    """What the tools said no to; the model was told, and went on to its last word."""
    events: list[Any] = []
    model = ScriptedModel(script, cost=0.001)
    Agent(gateway=model, emit=events.append).attempt(step(), candidate(**who), tree, sandbox, budget)
    assert len(model.calls) == len(script)
    return [event.result for event in events if isinstance(event, ToolCalled) and not event.ok]


@pytest.mark.parametrize("tool", ["edit", "edit-new", "keep"])
def test_a_hostile_path_is_refused_and_named(
    tree: RunTree, sandbox: Any, outside: Path, tmp_path: Path, tool: str
) -> None:
    before(tree, outside)
    start, inside, around = tree.checkpoint(), state(tree.root), state(outside)
    git_config = (tree.directory / "config").read_bytes()
    for path in PATHS:
        asks = {
            "edit": call("edit", {"path": path, "search": "mine", "replace": "evil"}),
            "edit-new": call("edit", {"path": path, "search": "", "replace": "evil\n"}),
            "keep": call("run", {"command": "true", "keep": [path]}),
        }[tool]
        budget = RunBudget(max_cost=1.0, max_steps=20, max_time=900, clock=lambda: 0.0)
        said = refusals([asks, DONE], tree, sandbox, budget)
        assert len(said) == 1, path
        assert said[0].startswith(repr(path)[:100]), path
        assert (state(tree.root), state(outside), tree.changed(start)) == (inside, around, ()), path
    assert (tree.directory / "config").read_bytes() == git_config
    assert not (tmp_path / "evil").exists()


def made(name: str, mode: str, line: str) -> str:
    """A git diff that makes a file."""
    head = f"diff --git a/{name} b/{name}\nnew file mode {mode}\n--- /dev/null\n+++ b/{name}\n"
    return f"{head}@@ -0,0 +1 @@\n+{line}\n" + ("\\ No newline at end of file\n" if mode == "120000" else "")


PATCHES = {
    "a link out": made("l", "120000", "{outside}"),
    "a submodule": made("s", "160000", f"Subproject commit {'1' * 40}"),
    "a file behind its own link": made("l", "120000", "{outside}") + made("l/evil", "100644", "evil"),
    "a mode that makes a link": "diff --git a/a.py b/a.py\nold mode 100644\nnew mode 120000\n",
    "a binary file in git's folder": "diff --git a/.git/x b/.git/x\nnew file mode 100644\n"
    "index 0000000..1111111\nGIT binary patch\nliteral 6\nNcmZQzWJ*j*1^@zG0V)6h\n\n"
    "literal 0\nHcmV?d00001\n\n",
    "a copy out": "diff --git a/a.py b/../evil\nsimilarity index 100%\ncopy from a.py\ncopy to ../evil\n",
    "a pointer of LFS behind a link": made("l", "120000", "{outside}")
    + made("l/big", "100644", "version https://git-lfs.github.com/spec/v1"),
    "a renaming out": "diff --git a/a.py b/../evil\nsimilarity index 100%\nrename from a.py\n"
    "rename to ../evil\n",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_a_reply_that_is_a_hostile_patch_changes_nothing_outside(
    tree: RunTree, sandbox: Any, budget: RunBudget, outside: Path, patch: str
) -> None:
    tmp_path = outside.parent
    around, files = state(outside), set(tmp_path.iterdir())
    reply = f"```diff\n{patch.format(outside=outside)}```\n"
    model = ScriptedModel([reply] * 5, cost=0.001)
    agent = Agent(gateway=model, emit=lambda _: None)
    agent.attempt(step(), candidate(tools=False), tree, sandbox, budget)
    assert (state(outside), set(tmp_path.iterdir())) == (around, files)
    assert not any(path.is_symlink() for path in tree.root.rglob("*"))


# --- by a command in the sandbox --------------------------------------------------------------------------

DEEDS = {
    "a link out, kept": ("ln -s {outside}/mine.txt l.py", "l.py"),
    "a folder that becomes a link": ("rm -rf pkg; ln -s {outside} pkg", "pkg/mine.txt"),
    "a hard link": ("ln /etc/passwd h.py 2>/dev/null || ln -s /etc/passwd h.py", "h.py"),
    "a socket": ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s.py\")'", "s.py"),
    "a link in a folder of its own": ("mkdir n && ln -s {outside} n/out", "n/out/mine.txt"),
    "a pipe": ("mkfifo p.py", "p.py"),
    "a device": ("mknod d.py c 1 5 2>/dev/null || ln -s /dev/zero d.py", "d.py"),
    "a folder": ("mkdir f.py", "f.py"),
    "a link to the machine's keys": ("ln -s {home}/.env k.py", "k.py"),
    "git's own": ("mkdir -p .git/hooks; echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
}


@pytest.fixture
def walled(acr_home: Path, tmp_path: Path) -> Any:
    return open_sandbox(
        "bubblewrap",
        run_id="leaves",
        home=acr_home,
        image=None,
        limits=Limits(),
        emit=lambda _: None,
        environ=dict(os.environ),
        repository=tmp_path,
    )


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_what_a_command_makes_leads_nowhere(
    tree: RunTree, walled: Any, budget: RunBudget, outside: Path, deed: tuple[str, str]
) -> None:
    acr_home = Path(os.environ["ACR_HOME"])
    acr_home.mkdir(parents=True, exist_ok=True)
    (acr_home / ".env").write_text("OPENAI_API_KEY=the-users-key\n")
    walled.prepare(Recipe(language=""), tree.root)
    start, around = tree.checkpoint(), state(outside)
    command, kept = deed
    script = [
        call("run", {"command": command.format(outside=outside, home=acr_home), "keep": [kept]}),
        call("open", {"path": kept}),
        DONE,
    ]
    model = ScriptedModel(script, cost=0.001)
    Agent(gateway=model, emit=lambda _: None).attempt(step(), candidate(), tree, walled, budget)
    assert (tree.changed(start), state(outside)) == ((), around)
    told = "".join(message.content for message in model.calls[-1].messages if message.role == "tool")
    assert "the-users-key" not in told
    assert "root:x:0:0" not in told
    assert "mine\n" not in told


def test_detection_reads_nothing_behind_links_out_and_waits_for_no_pipe(
    tmp_path: Path, outside: Path
) -> None:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (outside / "requirements.txt").write_text("the-users-secret==1\n")
    (tree / "requirements.txt").write_text(
        "-r /etc/hosts\n-r out/requirements.txt\n-r linked.txt\n-r pipe.txt\n"
    )
    (tree / "linked.txt").symlink_to(outside / "requirements.txt")
    (tree / "out").symlink_to(outside)
    os.mkfifo(tree / "pipe.txt")
    (tree / "setup.cfg").symlink_to("sub/real.cfg")
    (tree / "sub" / "real.cfg").write_text("[options]\ninstall_requires = attrs\n")
    (tree / "rust-toolchain").symlink_to(outside / "requirements.txt")
    (tree / "test_a.py").write_text("import pytest\n")
    recipe = Python().recipe(tree, setup=None)
    assert recipe is not None
    assert set(recipe.manifests) == {"requirements.txt", "setup.cfg"}
    assert "attrs" in " ".join(recipe.setup)
    assert "secret" not in " ".join(recipe.setup)
    assert read_text(tree, "out", "mine.txt") == read_text(tree, "..", "outside", "mine.txt") == ""
