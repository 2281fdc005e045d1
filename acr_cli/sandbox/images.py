"""Images: the base for a language, and on it, once per repository and manifests, the dependencies.

An image is made by running the setup commands in a container and committing it: that works on every engine,
with and without BuildKit. What the commands may see of the user's settings lies in the container's volume,
so that nothing of it is in the image.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acr_cli.errors import SandboxUnavailable, UsageError
from acr_cli.events import Emit, Notice
from acr_cli.protocols import Limits, Recipe
from acr_cli.sandbox import dependencies, devcontainer, install
from acr_cli.sandbox.caches import owner_of
from acr_cli.sandbox.containers import (
    HOME_LABEL,
    OWNER_LABEL,
    REPOSITORY_LABEL,
    ROOT,
    RUN_LABEL,
    Labels,
    bounds,
    finished,
)
from acr_cli.sandbox.dockerfile import fetched, first_image
from acr_cli.sandbox.engine import Engine, best_effort, broken, network_mode
from acr_cli.sandbox.files import add_file, add_folder, add_tree, is_inside
from acr_cli.sandbox.gate import VARIABLES
from acr_cli.sandbox.sidecar import sidecar
from acr_cli.sandbox.volumes import Volume

if TYPE_CHECKING:
    from docker.models.containers import Container

DEFAULT_IMAGES: Mapping[str, str] = {
    "python": "python:3.12-slim",
    "javascript": "node:22-slim",
    "typescript": "node:22-slim",
    "go": "golang:1.24",
    "rust": "rust:1-slim",
    "java": "maven:3-eclipse-temurin-21",
    "ruby": "ruby:3.3-slim",
    "php": "composer:2",
    "c": "gcc:14",
    "cpp": "gcc:14",
}
"""Base image by language, where neither the user nor the repository names one."""

_PACKAGES = "/acr-packages"
OF_THE_REPOSITORY = ("Dockerfile", "devcontainer")
"""What stands for an image where the user asks for the repository's own."""

VENV = "/opt/acr-venv"
CACHE_LABEL = "acr.cache"
_KEPT = 3  # images of one repository
_BUILD_ARGUMENTS = ("http_proxy", "https_proxy")
_INSTEAD = "Name an image that is there with --image, or use --sandbox bubblewrap."
_USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ImageMissing(SandboxUnavailable):
    """An image is neither there nor can it be pulled."""


class Images:
    """Finds and makes images on one engine."""

    def __init__(
        self,
        *,
        engine: Engine,
        labels: Labels,
        chosen: str | None,
        limits: Limits,
        emit: Emit,
        environ: Mapping[str, str],
        home: Path,
        network: bool = False,
    ) -> None:
        """`network`: whether installing has the network as it is."""
        self._network = network
        self._engine = engine
        self._home = home
        self._labels = labels
        self._chosen = chosen
        self._limits = limits
        self._emit = emit
        self._environ = environ

    def prepare(self, recipe: Recipe, tree: Path) -> tuple[str, str]:
        """Id and name of the image that the tests of `recipe` run in.

        Raises: SandboxUnavailable, UsageError."""
        chosen, dockerfile, context = self._chosen, recipe.dockerfile or "", "."
        if chosen in OF_THE_REPOSITORY:
            named = (
                devcontainer.read(tree) if chosen == "devcontainer" else devcontainer.Named(dockerfile=chosen)
            )
            chosen, dockerfile, context = named.image, named.dockerfile, named.context
        if dockerfile and not chosen:
            image, name = self._built(recipe, tree, dockerfile, context)
        else:
            own = "" if recipe.image in OF_THE_REPOSITORY else recipe.image
            wanted = chosen or own or DEFAULT_IMAGES.get(recipe.language)
            if wanted is None:
                raise ImageMissing(
                    f"There is no usual image for {recipe.language or 'this repository'}.", hint=_INSTEAD
                )
            image, name = self.base(wanted)
        if recipe.setup:
            image = self._with_dependencies(recipe, tree, image)
            name += " with the repository's dependencies"
        return image, name

    def base(self, name: str) -> tuple[str, str]:
        """Id and name of an image, pulled when it is not there.

        Raises: SandboxUnavailable."""
        import docker.errors

        images = self._engine.client.images
        with broken("look for an image"):
            try:
                return str(images.get(name).id), name
            except docker.errors.ImageNotFound:
                pass
        self._emit(Notice(level="info", text=f"Pulling the image {name}."))
        try:
            with broken(f"pull the image {name}"):
                return str(images.pull(name).id), name
        except SandboxUnavailable as error:
            why = error.message.removeprefix(f"The Docker engine could not pull the image {name}: ")
            raise ImageMissing(
                f"The image {name} is not there and cannot be pulled: {why}", hint=_INSTEAD
            ) from error

    def _built(self, recipe: Recipe, tree: Path, dockerfile: str, context: str) -> tuple[str, str]:
        """The repository's own Dockerfile, by the engine's classic builder, whose layers are its cache."""
        import docker.errors

        self._emit(Notice(level="info", text=f"Building the image of {dockerfile}, with network."))
        for place in (dockerfile, context):
            if not is_inside(tree, place):
                raise UsageError(f"{place} is not in this repository, or leads out of it.", hint=_INSTEAD)
        key = install.key(Recipe(language="", manifests=(dockerfile,), repository=recipe.repository), tree)
        beside = self._beside(tree / dockerfile, recipe.language)
        try:
            with (
                self._way_out(beside) as (network, proxies),
                broken("build an image", but=docker.errors.BuildError),
            ):
                image, _ = self._engine.client.images.build(
                    path=str(tree / context),
                    dockerfile=str(tree / dockerfile),
                    tag=f"acr-dockerfile:{key[:20]}",
                    labels={REPOSITORY_LABEL: recipe.repository, HOME_LABEL: self._labels.home},
                    network_mode=network,
                    # Those that every build knows, and no image keeps.
                    buildargs={k: v for k, v in proxies.items() if k.lower() in _BUILD_ARGUMENTS},
                    rm=True,
                    forcerm=True,
                )
        except docker.errors.BuildError as error:
            text = "".join(str(line.get("stream", "")) for line in error.build_log)
            log = install.keep_log(self._home, self._labels.run, replace(recipe, language="image"), text)
            where = f" All of the log: {log}" if log else ""
            raise SandboxUnavailable(
                f"{dockerfile} cannot be built: {error.msg}\n{text[-2000:]}".rstrip(),
                hint=f"{_INSTEAD}{where}",
            ) from error
        return str(image.id), dockerfile

    def _beside(self, file: Path, language: str) -> str:
        """The image for the container beside a build: the first that is named as it is, else the language's.

        Raises: SandboxUnavailable for what the engine itself would fetch, from wherever it stands."""
        if self._network:
            return ""
        text = file.read_bytes().decode("utf-8", "replace")
        if line := fetched(text):
            raise SandboxUnavailable(
                f"{file.name} may have the engine fetch an address itself: {line[:100]}.",
                hint="Fetch it with RUN, take files of the repository with COPY, or give the sandbox the"
                " network as it is with --network on.",
            )
        named = first_image(text)
        return self.base(named or DEFAULT_IMAGES.get(language, DEFAULT_IMAGES["python"]))[0]

    def _with_dependencies(self, recipe: Recipe, tree: Path, base: str) -> str:
        key = install.key(recipe, tree, "docker", base)
        with broken("look for an image"):
            cached = self._engine.client.images.list(filters={"label": f"{CACHE_LABEL}={key}"})
        if cached:
            return str(cached[0].id)
        way = "with the network as it is" if self._network else "through acr's proxy"
        install.tell(recipe, self._emit, f"{way}, into an image that is kept")
        with Volume(self._engine, self._labels, base) as volume, self._way_out(base) as (network, proxies):
            self._fill(volume, recipe, tree, proxies)
            limits = install.limits(self._limits)
            options: dict[str, Any] = {
                **bounds(self._engine, limits),
                "user": "0:0",
                "network_mode": network,
            }
            argv, mounts = ["/bin/sh", f"{ROOT}/setup/run"], [self._packages(recipe.repository)]
            with finished(volume, argv, limits=limits, mounts=mounts, **options) as (container, result):
                install.check(result, install.keep_log(self._home, self._labels.run, recipe, result.output))
                image = self._commit(container, recipe, base, key)
        self._forget_old(recipe.repository)
        return image

    @contextlib.contextmanager
    def _way_out(self, image: str) -> Iterator[tuple[str, Mapping[str, str]]]:
        """The network of an install step, and the variables that tell of it."""
        if self._network:
            yield network_mode(self._engine), install.proxies(self._environ)
            return
        with (
            install.gate(self._environ, self._emit) as gate,
            sidecar(self._engine, self._labels, image, gate) as beside,
        ):
            yield f"container:{beside}", VARIABLES

    def _packages(self, repository: str) -> Any:
        """The volume of a repository's downloads; none of another's is ever read."""
        from docker.types import Mount

        name = f"acr-packages-{self._labels.home}-{owner_of(repository)}"
        labels = {REPOSITORY_LABEL: repository, HOME_LABEL: self._labels.home}
        with broken("make a volume"):
            self._engine.client.volumes.create(name=name, labels=labels)  # as it is, where it is there
        return Mount(target=_PACKAGES, source=name, type="volume", no_copy=True)

    def _fill(self, volume: Volume, recipe: Recipe, tree: Path, proxies: Mapping[str, str]) -> None:
        links, folders = install.wheel_folders(self._environ)
        names, file = install.certificates(self._environ)
        variables = {
            **install.settings(self._environ),
            **proxies,
            **dict.fromkeys(names, f"{ROOT}/setup/certificates.pem"),
            "HOME": f"{ROOT}/setup/home",
            dependencies.VARIABLE: dependencies.IN_IMAGE,
            **install.packages(_PACKAGES),
            "PIP_ROOT_USER_ACTION": "ignore",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            **({"PIP_FIND_LINKS": " ".join(links)} if links else {}),
        }
        if folders:
            shown = ", ".join(map(str, folders))
            text = f"PIP_FIND_LINKS: {shown} lies on this machine and cannot be seen in a container."
            self._emit(Notice(level="info", text=text))
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        script = exports + install.script(recipe, venv=VENV, compile_all=True)
        now = time.time()
        with volume.filling() as archive:
            for folder in ("scratch", "setup", "setup/home"):
                add_folder(archive, folder)
            add_tree(archive, tree, "work", only=recipe.manifests)
            add_file(archive, "setup/run", script.encode(), mtime=now)
            if file is not None:
                add_file(archive, "setup/certificates.pem", file.read_bytes(), mtime=now)

    def _commit(self, container: Container, recipe: Recipe, base: str, key: str) -> str:
        config = self._engine.client.images.get(base).attrs.get("Config") or {}
        path = next((v[5:] for v in config.get("Env") or () if v.startswith("PATH=")), _USUAL_PATH)
        if recipe.language == "python":
            variables = {"PATH": f"{VENV}/bin:{path}", "VIRTUAL_ENV": VENV}
        else:
            variables = {dependencies.VARIABLE: dependencies.IN_IMAGE}
        labels = {
            CACHE_LABEL: key,
            REPOSITORY_LABEL: recipe.repository,
            HOME_LABEL: self._labels.home,
            # A commit inherits the container's labels, and an image is nobody's leftover.
            **dict.fromkeys((RUN_LABEL, OWNER_LABEL), ""),
        }
        # As lines of a Dockerfile: a whole configuration, which Docker takes too, Podman leaves aside.
        changes = [f"ENV {name}={_quoted(value)}" for name, value in variables.items()]
        changes += [f"LABEL {name}={_quoted(value)}" for name, value in labels.items()]
        with broken("keep an image"):
            made = container.commit(repository="acr-environment", tag=key[:20], changes=changes)
            return str(made.id)

    def _forget_old(self, repository: str) -> None:
        with best_effort():
            mine = self._engine.client.images.list(
                filters={"label": [CACHE_LABEL, f"{REPOSITORY_LABEL}={repository}"]}
            )
            mine.sort(key=lambda image: str(image.attrs.get("Created", "")), reverse=True)
            for image in mine[_KEPT:]:
                with best_effort():  # one that a container still uses stays
                    self._engine.client.images.remove(str(image.id))


def _quoted(value: str) -> str:
    """A value as a line of a Dockerfile takes it, literally. Pure."""
    return '"' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'
