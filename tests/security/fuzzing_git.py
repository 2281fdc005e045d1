"""What git tells of a repository that somebody else made: its index, trees, commits, settings, ignore files.

Through git itself, on repositories whose files git would not have written so. What an ignore file means is
compared with git's own answer.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath

from acr_cli.agent import ignoring
from acr_cli.errors import AcrError
from acr_cli.history.commits import entries, walk
from acr_cli.history.laying import lay_out
from acr_cli.worktree.hardened_git import git
from acr_cli.worktree.repository import Repository, open_repository
from acr_cli.worktree.reversal import reverse
from acr_cli.worktree.tree import RunTree
from tests.security.fuzzing import Parser, encoded

_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\texcludesFile = x\n"
    '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n[include]\n\tpath = other\n'
    '[gpg "x"]\n\tprogram = y ; z\n[alias]\n\ta = "!b"\n'
)
_COMMIT = (
    "author A \u00e4 <a@b> 1700000000 +0100\ncommitter A <a@b> 1700000000 +0100\n"
    "encoding ISO-8859-1\n\nMend it\n\nIt was broken.\n"
)
_GIT_FILES = (
    ("config", (_CONFIG,)),
    ("HEAD", ("ref: refs/heads/main\n", "1" * 40 + "\n")),
    ("packed-refs", ("# pack-refs with: peeled\n" + "1" * 40 + " refs/heads/main\n",)),
    ("refs/heads/main", ("1" * 40 + "\n", "ref: refs/heads/other\n")),
    ("shallow", ("1" * 40 + "\n",)),
    ("info/exclude", ("*.log\n!a.log\n",)),
    ("commondir", ("../.git\n",)),
    ("objects/info/alternates", ("/nowhere\n../../other\n",)),
)
_PATHS = (
    *(
        "a",
        "b",
        "x",
        "a.log",
        "a/b/c.py",
        "a/a",
        "b/a",
        "x/a.log",
        "keep/a",
        "keep/keep",
        "-",
        "[",
        "]",
        "\\",
    ),
    *(
        " ",
        "a ",
        "#",
        "!",
        "!a",
        "#a",
        "n/x/y/z",
        "a/x/b",
        "a-b",
        "a/a/a/a/a",
        "a]",
        "A",
        "_",
        "0",
        "^",
        "a\\",
    ),
)

# Two stars beside anything but a slash: what that means depends on the version of git.
_UNCLEAR = re.compile(r"(?<=[^/])(?<!^!)\*\*|\*\*[^/]")


def inside(names: tuple[str, ...]) -> bool:
    """Whether all of these are names of files in a tree. Pure."""
    return not any(
        PurePosixPath(n).is_absolute() or {"..", ".git"} & {*PurePosixPath(n).parts} for n in names
    )


@contextmanager
def _repository() -> Iterator[Path]:
    """A repository with one file and no commit, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="acr-fuzz-") as folder:
        root = Path(folder, "repository")
        for name in ("objects", "refs/heads", "info"):
            (root / ".git" / name).mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (root / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
        (root / "a").write_text("x\n")
        yield root


def _all_of(repository: Repository, folder: Path) -> tuple[str, ...]:
    """Whatever a run looks at before it begins; the names that it sees."""
    names = repository.files()
    repository.indexed()
    repository.ignored(("*.log",))
    with _refusal():
        repository._refuse_programs()
    folder.mkdir()
    tree = RunTree.copy(repository.root, names, folder)
    assert {path.name for path in folder.iterdir()} == {"tree", "git"}, "something lies beside the copy"
    return (*names, *tree.files())


@contextmanager
def _refusal() -> Iterator[None]:
    try:
        yield
    except AcrError as error:
        if not error.message:
            raise AssertionError("it does not say why") from error


def _git_file(name: str, text: str) -> object:
    with _repository() as root:
        path = root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(text))
        repository = open_repository(root, home=root.parent)
        walk(partial(git, directory=repository.directory, work_tree=root), 5)
        return _all_of(repository, root.parent / "run")


def index_of(names: Sequence[bytes]) -> bytes:
    """An index of git's that names these, whether git would or not. Pure."""
    body = struct.pack(">4sII", b"DIRC", 2, len(names))
    for name in sorted(names):
        about = struct.pack(">10I20sH", *(0,) * 6, 0o100644, 0, 0, 0, b"\1" * 20, min(len(name), 0xFFF))
        body += about + name + b"\0" * (8 - (len(about) + len(name)) % 8)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _index(text: str) -> object:
    """An index of these names, a line each."""
    with _repository() as root:
        names = sorted({encoded(line)[:4096] for line in text.split("\n") if line and "\0" not in line})
        (root / ".git" / "index").write_bytes(index_of(names))
        for name in names:  # what it names is there, wherever that is
            with _nowhere():
                path = root / os.fsdecode(name)
                assert path.resolve().is_relative_to(root.parent), "not here"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        return _all_of(open_repository(root, home=root.parent), root.parent / "run")


@contextmanager
def _nowhere() -> Iterator[None]:
    """For names that cannot be made."""
    try:
        yield
    except (OSError, ValueError, AssertionError):
        return


def _put(root: Path, kind: str, data: bytes) -> str:
    """Write an object as git would, whatever it holds; its id."""
    whole = f"{kind} {len(data)}".encode() + b"\0" + data
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    place = root / ".git" / "objects" / name[:2] / name[2:]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(zlib.compress(whole, 1))
    return name


def _commit(text: str, tree: str = "") -> Callable[[Path], str]:
    """Commits with this below their parents, the last one as HEAD."""

    def put(root: Path) -> str:
        files = tree or _put(root, "tree", b"")
        first = _put(root, "commit", f"tree {files}\n".encode() + encoded(_COMMIT))
        name = _put(root, "commit", f"tree {files}\nparent {first}\n".encode() + encoded(text))
        (root / ".git" / "refs" / "heads" / "main").write_text(name + "\n")
        return name

    return put


def _header(text: str) -> object:
    with _repository() as root:
        _commit(text)(root)
        return walk(partial(git, directory=root / ".git", work_tree=root), 5)


def _tree(text: str) -> object:
    """A tree of these entries, a line each: mode, name, and after a tab what a link or file holds."""
    with _repository() as root:
        data = b""
        for line in encoded(text).strip(b"\n").split(b"\n")[:200]:
            about, _, content = line.partition(b"\t")
            mode, _, name = about.partition(b" ")
            blob = _put(root, "blob", content)
            data += mode + b" " + name + b"\0" + bytes.fromhex(blob)
        commit = _commit(_COMMIT, _put(root, "tree", data))(root)
        ask = partial(git, directory=root / ".git", work_tree=root)
        walk(ask, 5)
        entries(ask, commit)
        folder = root.parent / "run"
        folder.mkdir()
        tree = RunTree(folder)
        tree.root.mkdir()
        lay_out(ask, commit, tree)
        assert [path.name for path in folder.iterdir()] == ["tree"], "something lies beside the tree"
        return tree.files()


def _ignored_as_git_does(text: str) -> object:
    """The paths on which git and we do not agree."""
    lines = (line for line in text.split("\n") if not _UNCLEAR.search(line))
    text = "\n".join(line for line in lines if line.count("*") < 6)  # git's time doubles with each star
    with _repository() as root:
        (root / ".gitignore").write_bytes(encoded(text))
        (root / ignoring.IGNORE_FILE).write_bytes(encoded(text))
        named = [line.strip("/!\\ ").replace("*", "a").replace("?", "b") for line in text.split("\n")[:50]]
        sound = [n for n in named if n and n.isascii() and n.isprintable() and len(n) < 200]
        paths = [str(PurePosixPath(n)) for n in (*_PATHS, *sound, *(f"{n}/c" for n in sound))]
        paths = [p for p in dict.fromkeys(paths) if inside((p,)) and p != "." and p[0] != ":"]
        told = subprocess.run(  # its exit status 1 says that it ignores none of them
            ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"],
            cwd=root,
            input=b"".join(p.encode() + b"\0" for p in paths),
            capture_output=True,
            check=False,
        )
        assert told.returncode in (0, 1), told.stderr
        ours = ignoring.read_ignored(root)
        theirs = {os.fsdecode(name) for name in told.stdout.split(b"\0") if name}
        return {path for path in paths if (path in ours) != (path in theirs)}


def _reversed(text: str) -> object:
    """A patch, from the first part of a text to the second, taken out of the third; whole where that is the
    second itself."""
    before, after, now = (encoded(part) for part in [*text.split("\n--\n"), "", ""][:3])
    assert reverse(before, after, after).content == before
    assert not reverse(before, after, after).refused
    found = reverse(before, after, now)
    return found.content if not found.refused else None


PARSERS = (
    *(
        Parser(name=f".git/{name}", feed=partial(_git_file, name), samples=samples, sound=inside, dear=True)
        for name, samples in _GIT_FILES
    ),
    Parser(
        name="index",
        feed=_index,
        samples=("a\nsub/b\n", "a\n../beside\n./c\nx//y\n"),
        sound=inside,
        dear=True,
    ),
    Parser(
        name="commit",
        feed=_header,
        samples=(_COMMIT,),
        repeats=("encoding x\n", "\n\n", "> 1 +0000\n"),
        dear=True,
    ),
    Parser(
        name="tree of a commit",
        feed=_tree,
        samples=("100644 a\tx\n120000 b\ta\n100755 c\t\n", "100644 ../x\tx\n160000 s\n"),
        sound=inside,
        dear=True,
    ),
    Parser(
        name="ignore file, as git reads it",
        feed=_ignored_as_git_does,
        samples=(
            "*.log\n!a.log\nkeep/\n/a/**/b\n",
            "**/a\na/**\n[a-b]\n[[:alpha:]-]\n[]-a[::]\n\\!a\n\\#\n# x\nx/*.log  \n[!a]\n",
        ),
        repeats=("*", "**/", "a/", "?"),
        sound=lambda unlike: not unlike,
        dear=True,
    ),
    Parser(
        name="patch taken back",
        feed=_reversed,
        samples=("a\nb\nc\n--\na\nB\nc\n--\nx\na\nB\nc\n", "--\n\n--\nx\n--\ny\n"),
        repeats=("a\n", "a\nb\n", "--\n"),
    ),
)
