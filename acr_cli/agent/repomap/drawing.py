"""The map as a model sees it: the files that matter most for the step, each with what it defines.

Where the step points: files that its text, its failing tests or its lessons name, and files that define a
name that stands there. From them rank flows along the uses of names; the best files are shown until the room
is used up, each with the definitions that the text names or that are used most.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from acr_cli.agent.repomap.graph import Graph, build, keep, key_of, load
from acr_cli.agent.repomap.index import Index, Place
from acr_cli.agent.repomap.tags import number

_SHOWN = 10  # definitions of one file
_FILES = 200  # that are looked at for their definitions
_LEAST = 0.001  # of the best file's rank; what has less has nothing to do with the task
_FEW = 5  # files that define a name, for its mention to point at them
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_WORDS = 400  # names of a text that are looked up
_MENTIONED = 0.5  # of the weight of a named file, shared by the files that define a name


class RepoMap:
    """The map of one repository.

    `folder` keeps what was read (None: nothing is kept). `source` is where the files of a tree were copied
    from, so that the next run finds them unchanged; `changed` tells which of the tree's differ from it.
    `reading` is told of how many files are about to be read, where that takes a while."""

    def __init__(
        self,
        folder: Path | None,
        *,
        source: Path | None = None,
        changed: Callable[[], Sequence[str]] = tuple,
        reading: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._source = source
        self._changed = changed
        self._reading = reading
        self.read = 0  # files that the last look opened

    def draw(
        self,
        root: Path,
        paths: Sequence[str],
        *,
        named: Mapping[str, float],
        words: str,
        hidden: Collection[str],
        room: int,
    ) -> str:
        """At most `room` characters about the files of the tree at `root`, the likeliest first.

        `named` gives weights to the files where the task begins, `words` is the text whose names count, and
        `hidden` are paths that need no place in the map. "" where nothing can be said."""
        try:
            index = Index(self._folder, reading=self._reading)
            try:
                digests = self._look(index, root, paths)
                if not digests:
                    return ""
                graph = self._graph(index, digests)
                files = list(digests)
                rank = graph.rank(_seeds(graph, files, named, words))
                order = (-rank).argsort(kind="stable")[: _FILES + len(hidden)]
                best = [files[place] for place in order if rank[place] > rank[order[0]] * _LEAST]
                best.sort(key=lambda path: -named.get(path, 0.0))
                left_out = {*hidden, *index.generated(digests)}
                shown = ((path, index.definitions(digests[path])) for path in best if path not in left_out)
                first = {number(name) for name in names_in(words)}
                return "\n".join(_lines(shown, graph, room, first=first))
            finally:
                index.close()
        # A full disk, another run at work for long, a damaged file: one can do without a map.
        except (sqlite3.Error, ValueError, TypeError, RecursionError):
            return ""

    def _look(self, index: Index, root: Path, paths: Sequence[str]) -> dict[str, bytes]:
        if self._source is None:
            looked = index.look(root, paths)
            self.read = len(looked)
            return looked
        scanned = index.scan(self._source, paths)
        self.read = scanned.read
        digests = dict(scanned.digests)
        if changed := set(self._changed()):
            of_tree = index.look(root, [path for path in paths if path in changed])
            self.read += len(of_tree)
            for path in changed:
                digests.pop(path, None)
            digests |= of_tree
        return digests

    def _graph(self, index: Index, digests: Mapping[str, bytes]) -> Graph:
        key = key_of(digests)
        place = None
        if self._folder is not None and self._source is not None:
            name = hashlib.blake2b(os.fsencode(self._source), digest_size=8).hexdigest()
            place = self._folder / f"{name}.npz"
            if (kept := load(place, key)) is not None:
                return kept
        graph = build(digests, index.names(digests.values()))
        if place is not None:
            keep(graph, place, key)
        return graph


def names_in(text: str) -> list[str]:
    """The words of a text that could be names of a program, the most frequent first. Pure."""
    return [name for name, _ in Counter(_NAME.findall(text)).most_common(_WORDS)]


def _seeds(graph: Graph, files: Sequence[str], named: Mapping[str, float], words: str) -> dict[int, float]:
    places = {path: place for place, path in enumerate(files)}
    seeds = {places[path]: weight for path, weight in named.items() if path in places}
    for name in names_in(words):
        definers = graph.defining(number(name))
        if 0 < len(definers) <= _FEW:
            for file in definers:
                seeds[file] = seeds.get(file, 0.0) + _MENTIONED / len(definers)
    return seeds


def _lines(
    shown: Iterable[tuple[str, Sequence[Place]]], graph: Graph, room: int, *, first: Collection[int]
) -> Iterable[str]:
    """The map's lines, as many as go into `room` characters."""
    for path, places in shown:
        uses = graph.used(place.name for place in places)
        best = sorted(range(len(places)), key=lambda each: (places[each].name not in first, -uses[each]))
        rows: dict[int, str] = {}
        for each in sorted(best[:_SHOWN]):
            rows.setdefault(places[each].line, places[each].text.expandtabs(4))
        lines = [path, *(f"{line:5}: {text}" for line, text in rows.items())]
        size = sum(len(line) + 1 for line in lines)
        if size > room:
            return
        room -= size
        yield from lines
