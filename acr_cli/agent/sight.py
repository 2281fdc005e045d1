"""What a model is shown of a repository without asking: the files at hand, and an overview of the rest."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from acr_cli.agent.excerpts import defined, excerpt, outline, stems_in
from acr_cli.agent.ignoring import IGNORE_FILE, read_ignored
from acr_cli.agent.repomap.drawing import RepoMap
from acr_cli.agent.text import Text, cut, numbered
from acr_cli.agent.unseen import is_generated, is_generated_text, is_image, is_secret, visible
from acr_cli.errors import BadReply, PathRefused
from acr_cli.protocols import Tree
from acr_cli.records import Step, StepKind

_LISTED = 300  # paths
_FEW = 60  # paths that are simply listed: no map tells more
_MAP = 6_000  # characters, where a listing is not shorter
_MAP_BESIDE = 1_200  # the same where failing tests have led to the files that are shown
_FOLDERS = 24  # named below the map
_LEAST = 400  # characters; no room for a further file
_WHOLE = 12_000  # characters of a file that is shown whole
_TEST_WHOLE = 500  # the same of a failing test's file, of which most is about other things
_SMALL = 3_000  # characters of a file that is shown whole where nothing in it is pointed to
_SECOND_HAND = 3_000  # characters of all files together that nothing but a file at hand points to
_EXCERPT = 6_000  # characters of the parts of a longer one
IN_PARTS = " (in parts)"
"""Stands behind the path of a file that is not shown whole."""

_STALE = 20_000  # characters of a file that has changed meanwhile
_READABLE = 400_000  # bytes; a larger file is opened piece by piece, or not at all
_ABOUT_MAP = "Those that matter most here, with the lines that define what is used most:\n"
_IMPORT = re.compile(
    r"^[ \t]*(?:from\s+([\w.]+)\s+import\s+(?:\(([\w,\s]+)\)|([\w, ]+))|import\s+([\w., ]+))", re.MULTILINE
)


class Sight:
    """What of a tree may be seen in one attempt. `.acrignore` is read at its beginning, and not again.

    `named` are generated files that may be looked at in spite of it, since the task is about them."""

    def __init__(self, tree: Tree, named: Collection[str] = ()) -> None:
        self.tree = tree
        self._named = frozenset(named)
        self._ignored = read_ignored(tree.root)
        self.is_small = False  # whether the first message names every file, and few they are
        self._shown: dict[str, bytes] = {}  # by path: what the model has last seen, hashed

    def listed(self) -> tuple[str, ...]:
        """Every path of the tree but what `.acrignore` names."""
        return tuple(path for path in self.tree.files() if path not in self._ignored)

    def files(self, listed: Sequence[str] | None = None) -> tuple[str, ...]:
        """The paths of text files that a model may read."""
        named = {path for path in self._named if not is_secret(path) and path not in self._ignored}
        paths = self.listed() if listed is None else listed
        seen = set(visible(paths, self._ignored)) | named.intersection(paths)
        return tuple(path for path in paths if path in seen)

    def check(self, path: str) -> None:
        """Whether a file may be shown or changed. Raises: PathRefused, for the model to read."""
        real = self.tree.path(path).relative_to(self.tree.root).as_posix()
        for name in (path, real):
            if is_secret(name):
                raise PathRefused(f"{path} may hold keys and is not shown.")
            if name in self._ignored:
                raise PathRefused(f"{path} is kept from you by {IGNORE_FILE}.")
            if name == IGNORE_FILE:
                raise PathRefused(f"{path} is the user's own: it is not shown and may not be changed.")

    def check_edit(self, path: str) -> None:
        """Whether a file may be changed now: not one that is other than the model saw it.

        Raises: PathRefused; BadReply with the present text, which the model has seen then."""
        self.check(path)
        file = self.tree.path(path)
        seen = self._shown.get(file.as_posix())
        if seen is None or not file.is_file() or seen == _hash(file.read_bytes()):
            return
        lines = self.read(path).splitlines()
        self.showed(path)
        raise BadReply(
            f"{path} has changed since you saw it; nothing was edited. This stands there now:\n"
            + cut(numbered(lines), _STALE)
        )

    def showed(self, path: str) -> None:
        """The model knows this file as it is now."""
        file = self.tree.path(path)
        if file.is_file():
            self._shown[file.as_posix()] = _hash(file.read_bytes())
        else:
            self._shown.pop(file.as_posix(), None)

    def read(self, path: str) -> str:
        """A text file of the tree. Raises: PathRefused, for the model to read."""
        self.check(path)
        file = self.tree.path(path)
        if not file.is_file():
            raise PathRefused(f"There is no file {path}.")
        if is_image(path):
            raise PathRefused(f"{path} is an image, and only text can be shown; go by what is said of it.")
        data = file.read_bytes()
        if path not in self._named and (is_generated(path) or is_generated_text(data)):
            raise PathRefused(f"{path} is generated by a program and is not shown; look at what makes it.")
        try:
            return "".join(Text.of(data, path).lines)
        except BadReply as error:
            raise PathRefused(error.message) from error

    def quietly(self, path: str) -> str:
        """A file's text, "" where it is not to be shown whole."""
        try:
            return self.read(path) if self.tree.path(path).stat().st_size <= _READABLE else ""
        except (PathRefused, OSError):
            return ""


def overview(
    sight: Sight,
    step: Step,
    repomap: RepoMap,
    listed: Sequence[str],
    everything: Sequence[str],
    *,
    at_hand: Sequence[str],
    shown: Collection[str],
    tools: bool,
    found: bool = False,
) -> str:
    """The repository at a glance, never longer than the list of its first paths would be. `listed` are all of
    its paths, `everything` those of files that may be read.

    A few files are listed. Of more a model with tools gets how many files each folder has, and the map, seen
    from the files at hand and without those that are shown; a short one where what matters is `found`.
    One without tools needs the paths to ask for, as far as they go."""
    paths = f"The files of the repository:\n{listing(listed)}"
    if len(listed) <= (_FEW if tools else _LISTED):
        return paths
    folders = f"The repository has {len(listed)} files: {_folders(listed)}.\n"
    tried = (path for lesson in step.lessons for path in _touched(lesson.patch))
    failures = (f"{case.id} {case.exception} {case.message}\n{case.detail}" for case in step.failures)
    drawn = repomap.draw(
        sight.tree.root,
        everything,
        named=dict.fromkeys(tried, 0.5) | dict.fromkeys(at_hand, 1.0),
        words="\n".join((step.text, *failures)),
        hidden=shown,
        room=min(_MAP_BESIDE if found else _MAP, len(paths)) - len(folders) - len(_ABOUT_MAP),
    )
    if not drawn and found:
        return folders.rstrip()
    return f"{folders}{_ABOUT_MAP}{drawn}" if drawn else paths


def listing(files: Sequence[str]) -> str:
    """Paths, cut where there are too many. Pure."""
    more = f"\n... and {len(files) - _LISTED} more" if len(files) > _LISTED else ""
    return "\n".join(files[:_LISTED]) + more


@dataclass(frozen=True, kw_only=True, slots=True)
class AtHand:
    """Files worth a look, the likeliest first. `aside` are those of them that are merely imported by a
    failing test, where something else is pointed to. `led_to` are those that failing tests lead to."""

    paths: tuple[str, ...]
    aside: frozenset[str] = frozenset()
    led_to: frozenset[str] = frozenset()


def files_at_hand(step: Step, sight: Sight, everything: Sequence[str]) -> AtHand:
    """Files that are named, that stand in tracebacks, or that the failing tests import; then what these
    import, if it is short and has to do with the step.

    `everything` are the paths that may be seen."""
    known = set(everything)
    details = "\n".join(f"{case.message}\n{case.detail}" for case in step.failures)
    tests = [case.file for case in step.failures if case.file in known]
    found = [
        *(path for path in step.files if path in known),
        *_mentioned(step.text, everything),
        *(path for path in _mentioned(details, everything) if path not in tests),
    ]
    pointed, words = {*found, *tests}, f"{step.text}\n{details}"
    for test in dict.fromkeys(tests):
        source = sight.quietly(test)
        part = excerpt(test, source, step, room=_EXCERPT) or source
        words += part
        found += _imported(source, everything, used=_IMPORT.sub("", part))
    led_to = (set(found) if tests else set()) - set(tests)
    aside = led_to - pointed if pointed - set(tests) else set()
    found += _second_hand([path for path in found if path not in aside], sight, everything, words)
    return AtHand(
        paths=tuple(dict.fromkeys([*found, *tests])), aside=frozenset(aside), led_to=frozenset(led_to)
    )


def _second_hand(paths: Iterable[str], sight: Sight, everything: Sequence[str], words: str) -> list[str]:
    """Short files that these import, and whose name or whose definitions' names stand among `words`: to ask
    for one would cost more than to be shown it."""
    said, room, chosen = stems_in(words), _SECOND_HAND, list[str]()
    for path in dict.fromkeys(paths):
        source = sight.quietly(path)
        for other in _imported(source, everything, used=_IMPORT.sub("", source)):
            text = sight.quietly(other)
            if other in chosen or not 0 < len(text) <= room:
                continue
            name = PurePosixPath(other).stem
            if said & stems_in(f"{name} {' '.join(defined(text))}"):
                chosen.append(other)
                room -= len(text)
    return chosen


def contents(
    sight: Sight,
    paths: Iterable[str],
    step: Step,
    *,
    room: int,
    whole: bool,
    aside: Collection[str] = (),
) -> dict[str, str]:
    """Files as far as they go into `room` characters, each below its path; by path. Of a failing test's file,
    which is not to be changed, the parts that the step points to; so of a long one, and of those `aside` the
    lines that define something, unless all are to be shown `whole`."""
    blocks: dict[str, str] = {}
    tests = {case.file for case in step.failures} if step.kind is StepKind.EDIT else set()
    for path in paths:
        if room < _LEAST:
            break
        text, about = sight.quietly(path).rstrip("\n"), ""
        longest = _TEST_WHOLE if path in tests else _WHOLE
        if len(text) > min(longest, room) and (path in tests or not whole):
            parts = excerpt(path, text, step, room=min(_EXCERPT, room))
            if parts or len(text) > _SMALL:
                text, about = parts, IN_PARTS
        elif path in aside and not whole:
            text, about = outline(text) or text, IN_PARTS
        fence = "````" if "```" in text else "```"
        block = f"{path}{about}\n{fence}\n{text}\n{fence}\n"
        if text and len(block) <= room:
            room -= len(block)
            blocks[path] = block
            sight.showed(path)
    return blocks


def source_files(everything: Sequence[str]) -> tuple[str, ...]:
    """All files that a person would read, smallest paths first. Pure."""
    unread = (".lock", ".svg", ".min.js", ".map")
    files = [path for path in everything if not path.endswith(unread)]
    return tuple(sorted(files, key=lambda path: (path.count("/"), path)))


def _folders(files: Sequence[str]) -> str:
    """The folders of the first two levels with the most files, and how many each has."""
    counts = Counter("/".join(path.split("/")[:-1][:2]) for path in files)
    most = sorted(counts.most_common(_FOLDERS))
    named = ", ".join(f"{folder or '.'}/ {count}" for folder, count in most)
    more = f" and {len(counts) - _FOLDERS} more folders" if len(counts) > _FOLDERS else ""
    return named + more


def _touched(patch: str) -> list[str]:
    return re.findall(r"^\+\+\+ b/(.+)$", patch, re.MULTILINE)


def _mentioned(text: str, files: Sequence[str]) -> list[str]:
    """Files whose path, or whose unique name, stands in a text."""
    words = {word.strip("./\\'\"`,:;()[]") for word in re.split(r"[\s:,'\"`()\[\]]+", text)}
    words |= {word for whole in words if "/" in whole for word in _tails(whole)}
    names: dict[str, list[str]] = {}
    for path in files:
        if (name := path.rpartition("/")[2]) in words and "." in name:
            names.setdefault(name, []).append(path)
    by_name = {paths[0] for paths in names.values() if len(paths) == 1}
    return [path for path in files if path in words or path in by_name]


def _tails(path: str) -> Iterable[str]:
    """A path as seen from each of its folders: a traceback's path begins where the tests ran."""
    parts = path.split("/")
    return ("/".join(parts[start:]) for start in range(1, len(parts) - 1))


def _imported(source: str, files: Sequence[str], *, used: str) -> list[str]:
    """Files of the tree that a Python source imports names from that the text `used` holds; all files that it
    imports where there are none."""
    words = set(re.findall(r"\w+", used))
    everything: set[str] = set()
    modules: set[str] = set()
    for match in _IMPORT.finditer(source):
        base, names, same_line, plain = match.groups()
        for each in (names or same_line or plain).split(","):
            name, _, alias = (part.strip() for part in each.partition(" as "))
            imported = {base, f"{base}.{name}"} if base else {name}
            everything |= imported
            if (alias or name).split(".")[0] in words:
                modules |= imported
    modules = modules or everything
    ends = {module.strip(".").replace(".", "/") for module in modules if module.strip(".")}
    return [
        path
        for path in files
        if any(f"/{path}".endswith((f"/{end}.py", f"/{end}/__init__.py")) for end in ends)
    ]


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
