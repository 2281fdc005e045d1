"""Docker: a fresh container for every command, on a volume that holds the session's copy of the tree.

Without network, on a read-only root, as an ordinary user without capabilities; memory (no swap beside it),
processes and processors are bound by the engine. The time limit kills the container, and with it every
process in it. What is written to the volume is watched: in the engine's files, or where this user cannot see
them, by a container beside.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from acr_cli.errors import SandboxUnavailable
from acr_cli.events import Emit, Notice
from acr_cli.protocols import CommandResult, Limits, Recipe
from acr_cli.sandbox import owner
from acr_cli.sandbox.caches import home_of, note_use
from acr_cli.sandbox.containers import (
    HOME,
    OWNER_LABEL,
    ROOT,
    Labels,
    finished,
    remove_container,
    walls,
)
from acr_cli.sandbox.copies import sweep_copies
from acr_cli.sandbox.engine import Engine, best_effort, network_mode
from acr_cli.sandbox.files import add_folder, add_tree, place
from acr_cli.sandbox.images import Images
from acr_cli.sandbox.languages import prepare_each
from acr_cli.sandbox.volumes import Volume


class Docker:
    """The sandbox on a container engine."""

    name = "docker"

    def __init__(
        self,
        *,
        engine: Engine,
        run_id: str,
        home: Path,
        image: str | None,
        limits: Limits,
        emit: Emit,
        environ: Mapping[str, str],
        network: bool = False,
    ) -> None:
        self.engine = engine
        self._home = home
        # A sandbox has no end of its own: the connections are closed with it, or with the program.
        weakref.finalize(self, engine.client.close)
        self.limits = limits
        self.network = network
        self.labels = Labels(run=run_id, home=home_of(home))
        self._images = Images(
            engine=engine,
            labels=self.labels,
            chosen=image,
            limits=limits,
            emit=emit,
            environ=environ,
            home=home,
            network=network,
        )
        self._emit = emit
        self._told = False
        self._image = ""
        self._image_name = image or ""
        self.variables: Mapping[str, str] = {}
        self._others: Mapping[str, Docker] = {}

    def prepare(self, recipe: Recipe, tree: Path) -> None:
        self._image, self._image_name = self._images.prepare(recipe, tree)
        self.variables = dict(recipe.environment)
        note_use(self._home, self._image)
        self._others = prepare_each(self, recipe, tree)

    def of(self, language: str) -> Docker:
        """Each language runs in an image of its own; the volume is the session's."""
        return self._others.get(language, self)

    @contextlib.contextmanager
    def open(self, tree: Path) -> Iterator[DockerSession]:
        if not self._image:
            if not self._image_name:
                raise SandboxUnavailable("No image is chosen for the tests.", hint="Name one with --image.")
            self._image, self._image_name = self._images.base(self._image_name)
        with Volume(self.engine, self.labels, self._image) as volume:
            with volume.filling() as archive:
                add_folder(archive, "scratch")
                add_tree(archive, tree, "work")
            yield DockerSession(self, volume)

    def tell_unwatched(self) -> None:
        """Say, once, that what commands write is not bound."""
        if not self._told:
            self._told = True
            text = f"{self._image_name} has no `stat`, `du` and `find`: what commands write is not bound."
            self._emit(Notice(level="warning", text=text))

    def sweep(self) -> tuple[str, ...]:
        # A run in another sandbox may have been killed too.
        removed = list(sweep_copies(self._home))
        client = self.engine.client
        labelled: dict[str, Any] = {"label": OWNER_LABEL}
        with best_effort():
            for container in client.containers.list(all=True, filters=labelled, ignore_removed=True):
                if _left_behind(container.labels):
                    remove_container(self.engine, str(container.id))
                    removed.append(f"container {container.name}")
        with best_effort():
            for volume in client.volumes.list(filters=labelled):
                if _left_behind(volume.attrs.get("Labels") or {}):
                    with best_effort():
                        volume.remove(force=True)
                        removed.append(f"volume {volume.name}")
        return tuple(removed)

    def describe(self) -> str:
        return f"Docker {self.engine.version}, {self._image_name or 'no image yet'}"


def _left_behind(labels: Mapping[str, str]) -> bool:
    whose = owner.parse(labels.get(OWNER_LABEL, ""))
    return whose is not None and whose.dead()


class DockerSession:
    """A copy of the tree in a volume."""

    workdir = f"{ROOT}/work"
    scratch = f"{ROOT}/scratch"

    def __init__(self, sandbox: Docker, volume: Volume) -> None:
        self._sandbox = sandbox
        self._volume = volume

    def run(
        self,
        command: Sequence[str] | str,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        limits = limits or self._sandbox.limits
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        variables = {
            "HOME": HOME,
            "USER": "acr",
            "LOGNAME": "acr",
            "LANG": "C.UTF-8",
            **self._sandbox.variables,
            **(environment or {}),
        }
        engine = self._sandbox.engine
        network = network_mode(engine) if self._sandbox.network else "none"
        options = {**walls(engine, limits), "environment": variables, "network_mode": network}
        with finished(self._volume, argv, limits=limits, **options) as (_, result):
            if self._volume.unwatched:
                self._sandbox.tell_unwatched()
            return result

    def put(self, files: Mapping[str, bytes]) -> None:
        placed = {self._parts(path): data for path, data in files.items()}
        if placed:
            self._volume.put(placed)

    def get(self, path: str) -> bytes | None:
        return self._volume.get(self._parts(path))

    def _parts(self, path: str) -> tuple[str, ...]:
        where, parts = place(path, workdir=self.workdir, scratch=self.scratch)
        return (where, *parts)
