"""Which files use what other files define, and how much each matters for the task at hand.

A file that uses a name points at the files that define it, and these, more weakly, back at it: who uses what
is about to change matters too. Rank is personalised PageRank (Page et al. 1999; Haveliwala 2002):
r = d (W r + dangling p) + (1 - d) p, where W are the row-normalised weights, p is where the task points,
d = 0.85. Weights: the square root of the number of uses, shared among those who define the name; a name that
very many files define says nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from acr_cli.agent.repomap.index import Digests

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_VERSION = b"2"  # of what a graph is made of
_DAMPING = 0.85
_BACK = 0.3  # of a use's weight leads from the definer back to the user
_ROUNDS = 40
_ENOUGH = 1e-5  # of the whole rank that still moves in a round
_AMBIGUOUS = 30  # files that define the same name


@dataclass(frozen=True, kw_only=True, slots=True)
class Graph:
    """Files are numbered in the order of the paths. Edges go from the user to the definer, and back."""

    size: int
    source: NDArray[int64]  # of each edge
    target: NDArray[int64]
    weight: NDArray[float64]  # those of one source sum to 1
    name: NDArray[int64]  # of each definition, ascending
    definer: NDArray[int64]  # its file
    uses: NDArray[int64]  # in how many files its name is used

    def rank(self, seeds: Mapping[int, float]) -> NDArray[float64]:
        """The share of each file in all attention; `seeds` say where it starts, else everywhere alike."""
        import numpy as np

        start = np.zeros(self.size)
        for file, share in seeds.items():
            start[file] = share
        if not start.sum() > 0:
            start[:] = 1.0
        start /= start.sum()
        leaving = np.bincount(self.source, minlength=self.size) > 0
        rank = start
        for _ in range(_ROUNDS):
            moved = np.bincount(self.target, self.weight * rank[self.source], minlength=self.size)
            following = _DAMPING * (moved + rank[~leaving].sum() * start) + (1 - _DAMPING) * start
            moves = float(np.abs(following - rank).sum())
            rank = following
            if moves < _ENOUGH:
                break
        return rank

    def defining(self, name: int) -> list[int]:
        """The files that define a name."""
        import numpy as np

        first, last = np.searchsorted(self.name, name, "left"), np.searchsorted(self.name, name, "right")
        return [int(file) for file in self.definer[first:last]]

    def used(self, names: Iterable[int]) -> list[int]:
        """In how many files each of the names is used."""
        import numpy as np

        wanted = np.array(list(names), dtype=np.int64)
        if not len(self.name):
            return [0] * len(wanted)
        places = np.searchsorted(self.name, wanted).clip(max=len(self.name) - 1)
        found = np.where(self.name[places] == wanted, self.uses[places], 0)
        return [int(each) for each in found]


def key_of(digests: Digests) -> str:
    """What a graph depends on: paths and contents. Pure."""
    state = hashlib.blake2b(_VERSION, digest_size=16)
    for path, digest in digests.items():
        state.update(path.encode("utf-8", "surrogateescape") + b"\0" + digest)
    return state.hexdigest()


def build(digests: Digests, names: Iterable[tuple[bytes, bytes, bytes, bytes]]) -> Graph:
    """The graph of these files; `names` as `Index.names` gives them."""
    import numpy as np

    files: dict[bytes, list[int]] = {}
    for file, digest in enumerate(digests.values()):
        files.setdefault(digest, []).append(file)
    defined, definers, used, counts, users = [], [], [], [], []
    for digest, defines, uses, count in names:
        for file in files.get(digest, ()):
            defined.append(defines)
            definers.append((file, len(defines) // 8))
            used.append(uses)
            counts.append(count)
            users.append((file, len(uses) // 8))
    name, definer = _columns(defined, definers)
    used_name, user = _columns(used, users)
    count_of = np.frombuffer(b"".join(counts), dtype=np.uint16).astype(np.float64)
    order = np.lexsort((definer, name))
    name, definer = name[order], definer[order]
    once = np.ones(len(name), dtype=bool)
    once[1:] = (name[1:] != name[:-1]) | (definer[1:] != definer[:-1])
    name, definer = name[once], definer[once]
    first = np.searchsorted(name, used_name, "left")
    number = np.searchsorted(name, used_name, "right") - first
    users_of = np.bincount(first[number > 0], minlength=len(name))  # at the first definer of each name
    kept = (number > 0) & (number <= _AMBIGUOUS)
    source, target, weight = _edges(user[kept], first[kept], number[kept], count_of[kept], definer)
    source, target = np.concatenate((source, target)), np.concatenate((target, source))
    weight = np.concatenate((weight, weight * _BACK))
    total = np.bincount(source, weight, minlength=len(digests))
    return Graph(
        size=len(digests),
        source=source,
        target=target,
        weight=weight / total[source],
        name=name,
        definer=definer,
        uses=users_of[np.searchsorted(name, name, "left")],
    )


def load(path: Path, key: str) -> Graph | None:
    """The graph that was kept under this key, if it is the last one."""
    import numpy as np

    try:
        # Opened here: numpy leaves a file open that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            if str(kept["key"]) != key:
                return None
            arrays = {each.name: kept[each.name] for each in fields(Graph) if each.name != "size"}
            graph = Graph(size=int(kept["size"]), **arrays)
    except Exception:  # noqa: BLE001  of a damaged archive numpy, zipfile and zlib say in many ways
        return None
    return graph if _is_whole(graph) else None


def _is_whole(graph: Graph) -> bool:
    """Whether its columns belong together, and name files that there are. Pure."""
    edges, names = (graph.source, graph.target, graph.weight), (graph.name, graph.definer, graph.uses)
    flat = all(len({column.shape for column in columns}) == 1 for columns in (edges, names))
    if not flat or graph.source.ndim != 1 or graph.name.ndim != 1:
        return False
    whole = all(column.dtype.kind == "i" for column in (graph.source, graph.target, *names))
    files = (graph.source, graph.target, graph.definer)
    return whole and all(0 <= int(c.min()) <= int(c.max()) < graph.size for c in files if len(c))


def keep(graph: Graph, path: Path, key: str) -> None:
    """Keep a graph in the place of the last one; a disk that takes it not is left alone."""
    import numpy as np

    arrays = {each.name: getattr(graph, each.name) for each in fields(Graph)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile(dir=path.parent, prefix="graph-", delete=False) as file:
            temporary = Path(file.name)
            try:
                np.savez(file, key=np.array(key), **arrays)
            except OSError:
                temporary.unlink()
                raise
        temporary.replace(path)
    except OSError:
        return


def _columns(names: list[bytes], files: list[tuple[int, int]]) -> tuple[NDArray[int64], NDArray[int64]]:
    import numpy as np

    pairs = np.array(files, dtype=np.int64).reshape(-1, 2)
    return np.frombuffer(b"".join(names), dtype=np.int64), np.repeat(pairs[:, 0], pairs[:, 1])


def _edges(
    user: NDArray[int64],
    first: NDArray[int64],
    number: NDArray[int64],
    count: NDArray[float64],
    definer: NDArray[int64],
) -> tuple[NDArray[int64], NDArray[int64], NDArray[float64]]:
    """One edge from each user of a name to each of its definers, edges of the same ends added up."""
    import numpy as np

    source = np.repeat(user, number)
    inside = np.arange(number.sum()) - np.repeat(number.cumsum() - number, number)
    target = definer[np.repeat(first, number) + inside]
    weight = np.repeat(np.sqrt(count) / number, number)
    other = source != target
    source, target, weight = source[other], target[other], weight[other]
    width = int(max(source.max(initial=0), target.max(initial=0))) + 1
    both, place = np.unique(source * width + target, return_inverse=True)
    summed = np.bincount(place, weight, minlength=len(both)).astype(np.float64)
    return both // width, both % width, summed
