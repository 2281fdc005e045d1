"""Dependencies are installed once, with network, from the manifests alone; the tests run without."""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from acr_cli.errors import SandboxUnavailable, UsageError
from acr_cli.events import Notice
from acr_cli.protocols import Recipe, Sandbox
from acr_cli.sandbox import devcontainer, install
from tests.sandbox.conftest import EVERY, IMAGE, Opened, Opener

PIP = next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
# The test image has no pip of its own; a wheel of pip can be run as it is.
INSTALL = f"python vendor/{PIP.name}/pip install --quiet --no-warn-script-location"
USE = ["python", "-c", "import tiny; print(tiny.VALUE)"]


def wheel(folder: Path, name: str, value: str) -> None:
    """The smallest wheel that pip takes: one module with one value."""
    files = {
        f"{name}.py": f"VALUE = {value!r}\n",
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(text)}")
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "\n".join([*lines, ""]))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "vendor").mkdir(parents=True)
    wheel(root / "vendor", "tiny", "first")
    (root / "vendor" / PIP.name).write_bytes(PIP.read_bytes())
    (root / "requirements.txt").write_text("tiny\n")
    (root / "source.py").write_text("print('source')\n")
    return root


def recipe(project: Path, *setup: str) -> Recipe:
    return Recipe(
        language="python",
        setup=setup or (f"{INSTALL} --no-index --find-links vendor -r requirements.txt",),
        manifests=("requirements.txt", "vendor", "missing.txt"),
        repository=str(project),
    )


@pytest.fixture(autouse=True)
def no_images_left(project: Path) -> Iterator[None]:
    yield
    import docker

    try:
        client = docker.from_env()
    except docker.errors.DockerException:
        return
    try:
        for image in client.images.list(filters={"label": f"acr.repository={project}"}):
            client.images.remove(str(image.id), force=True)
        for name in (str(project), f"{project} of somebody else"):
            for volume in client.volumes.list(filters={"label": f"acr.repository={name}"}):
                volume.remove()
    finally:
        client.close()


def installs(opened: Opened) -> int:
    return sum(isinstance(event, Notice) and "Installing" in event.text for event in opened.events)


def use(sandbox: Sandbox, project: Path) -> str:
    with sandbox.open(project) as session:
        return session.run(USE).output


def test_dependencies_are_there_and_are_installed_once(opener: Opener, opened: Opened, project: Path) -> None:
    opened.sandbox.prepare(recipe(project), project)
    assert use(opened.sandbox, project) == "first\n"
    assert installs(opened) == 1
    again = opener(opened.sandbox.name)
    again.sandbox.prepare(recipe(project), project)
    assert use(again.sandbox, project) == "first\n"
    assert installs(again) == 0


def test_a_changed_manifest_installs_anew(opener: Opener, opened: Opened, project: Path) -> None:
    opened.sandbox.prepare(recipe(project), project)
    wheel(project / "vendor", "tiny", "second")
    changed = opener(opened.sandbox.name)
    changed.sandbox.prepare(recipe(project), project)
    assert use(changed.sandbox, project) == "second\n"


def test_a_key_is_of_one_repository_its_manifests_and_its_commands(project: Path) -> None:
    first = install.key(recipe(project), project, "base")
    assert first == install.key(recipe(project), project, "base")
    others = {
        install.key(replace(recipe(project), repository="another"), project, "base"),
        install.key(recipe(project, "another command"), project, "base"),
        install.key(recipe(project), project, "another base"),
    }
    (project / "source.py").write_text("changed")
    assert first == install.key(recipe(project), project, "base"), "no manifest"
    (project / "requirements.txt").write_text("changed")
    others.add(install.key(recipe(project), project, "base"))
    assert len({first, *others}) == 5


def test_downloads_are_kept_for_the_next_setup_of_the_same_repository_alone(
    opener: Opener, opened: Opened, project: Path
) -> None:
    find = 'test -d "$PIP_CACHE_DIR" && test -e "$ACR_PACKAGES/pip/seen" && cat "$ACR_DEPENDENCIES/store/one"'
    leave = 'mkdir -p "$PIP_CACHE_DIR" "$ACR_DEPENDENCIES/store" && touch "$PIP_CACHE_DIR/seen"'
    first = replace(
        recipe(project, f"{leave} && echo a module > $ACR_DEPENDENCIES/store/one"),
        language="go",
        downloads=("store",),
    )
    opened.sandbox.prepare(first, project)
    opener(opened.sandbox.name).sandbox.prepare(replace(first, setup=(find,)), project)
    other = replace(first, setup=(find,), repository=f"{project} of somebody else")
    another = opener(opened.sandbox.name).sandbox
    with pytest.raises(SandboxUnavailable, match="exit code 1"):
        another.prepare(other, project)


@pytest.mark.parametrize("name", EVERY[1:])
def test_another_version_of_the_language_installs_anew(opener: Opener, name: str, project: Path) -> None:
    go = project.parent / "bin" / "go"
    go.parent.mkdir()
    wanted = replace(recipe(project, "echo here"), language="go")
    for version, count in (("one", 1), ("one", 0), ("another", 1)):
        if not go.exists() or version not in go.read_text():
            go.write_text(f"#!/bin/sh\necho {version}\n")
            go.chmod(0o755)
        opened = opener(name, environ={**os.environ, "PATH": f"{go.parent}:{os.environ['PATH']}"})
        opened.sandbox.prepare(wanted, project)
        assert installs(opened) == count


def test_the_setup_sees_the_manifests_and_nothing_else(opened: Opened, project: Path) -> None:
    opened.sandbox.prepare(recipe(project, "test -e requirements.txt && ! test -e source.py"), project)


def test_a_failing_setup_shows_its_log_and_leaves_nothing(opened: Opened, project: Path) -> None:
    failing = recipe(project, "echo so far so good", "echo 'no such package: tyni' >&2; exit 7", "echo never")
    for _ in range(2):  # a failure is not cached
        with pytest.raises(SandboxUnavailable, match="failed with exit code 7") as caught:
            opened.sandbox.prepare(failing, project)
    assert "so far so good" in caught.value.message
    assert "no such package: tyni" in caught.value.message
    assert "never" not in caught.value.message.splitlines()
    assert "--setup" in caught.value.hint
    assert caught.value.exit_code == 4
    log = opened.home / "runs" / opened.run_id / "install-python.log"
    assert str(log) in caught.value.hint
    assert "+ echo so far so good" in log.read_text()
    assert list(opened.home.glob("cache/envs/*/venv")) == []


def test_the_setup_sees_the_settings_of_pip_and_no_secret(
    opener: Opener, opened: Opened, project: Path
) -> None:
    environ = {
        **os.environ,
        "PIP_INDEX_URL": "https://ada:s3cret@localhost:1/simple",
        "OPENAI_API_KEY": "sk-planted",
    }
    sandbox = opener(opened.sandbox.name, environ=environ).sandbox
    check = 'test "$PIP_INDEX_URL" = https://ada:s3cret@localhost:1/simple && test -z "$OPENAI_API_KEY"'
    sandbox.prepare(recipe(project, check), project)
    with sandbox.open(project) as session:
        assert "s3cret" not in session.run("env").output


@pytest.mark.docker
def test_no_setting_of_the_user_stays_in_an_image(opener: Opener, project: Path) -> None:
    import docker

    environ = {**os.environ, "PIP_INDEX_URL": "https://ada:s3cret@localhost:1/simple"}
    sandbox = opener("docker", environ=environ).sandbox
    sandbox.prepare(recipe(project), project)
    client = docker.from_env()
    try:
        (image,) = client.images.list(filters={"label": f"acr.repository={project}"})
        shown = json.dumps([image.attrs, image.history()])
        assert image.labels["acr.cache"]
        assert not image.labels["acr.owner"], "an image is nobody's leftover"
    finally:
        client.close()
    assert "s3cret" not in shown
    assert "PIP_" not in shown
    assert "/opt/acr-venv/bin:" in shown
    with sandbox.open(project) as session:
        found = session.run("grep -rl s3cret /opt/acr-venv /root /home /tmp /etc 2>/dev/null")
        assert found.output == ""


@pytest.mark.docker
def test_installed_packages_come_with_bytecode(opener: Opener, project: Path) -> None:
    sandbox = opener("docker").sandbox
    sandbox.prepare(recipe(project), project)
    with sandbox.open(project) as session:
        program = (
            "import tiny, pathlib, json;"
            " print([pathlib.Path(m.__cached__).exists() for m in (tiny, pathlib, json)])"
        )
        assert session.run(["python", "-c", program]).output == "[True, True, True]\n"


@pytest.mark.docker
def test_the_repositorys_own_dockerfile_is_built(opener: Opener, project: Path) -> None:
    (project / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo made > /made\nENV FROM_DOCKERFILE=1\n")
    opened = opener("docker", image=None)
    built = Recipe(language="python", dockerfile="Dockerfile", repository=str(project))
    opened.sandbox.prepare(built, project)
    assert "Dockerfile" in opened.sandbox.describe()
    with opened.sandbox.open(project) as session:
        assert session.run("cat /made; echo $FROM_DOCKERFILE").output == "made\n1\n"
    (project / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo it breaks && exit 5\n")
    with pytest.raises(SandboxUnavailable, match="Dockerfile cannot be built") as caught:
        opened.sandbox.prepare(built, project)
    assert "it breaks" in caught.value.message
    assert "--image" in caught.value.hint


DEVCONTAINER = """{
  // an editor's file
  "name": "a // b", /* and so on */
  "build": {"dockerfile": "Dockerfile.dev", "context": ".."},
}
"""


@pytest.mark.docker
def test_what_the_devcontainer_names_is_taken_where_it_is_asked_for(opener: Opener, project: Path) -> None:
    file = project / ".devcontainer" / "devcontainer.json"
    file.parent.mkdir()
    file.write_text(f'{{"image": "{IMAGE}"}}')
    plain = Recipe(language="python", repository=str(project))
    named = opener("docker", image="devcontainer")
    named.sandbox.prepare(plain, project)
    assert named.sandbox.describe().endswith(IMAGE)
    file.write_text(DEVCONTAINER)
    (file.parent / "Dockerfile.dev").write_text(f"FROM {IMAGE}\nCOPY source.py /seen\n")
    built = opener("docker", image="devcontainer")
    built.sandbox.prepare(plain, project)
    with built.sandbox.open(project) as session:
        assert session.run("cat /seen").output == "print('source')\n"
    (project / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo own > /own\n")
    own = opener("docker", image="Dockerfile")
    own.sandbox.prepare(plain, project)
    with own.sandbox.open(project) as session:
        assert session.run("cat /own").output == "own\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "There is no devcontainer.json"),
        ("{", "cannot be read"),
        ('{"dockerComposeFile": "compose.yml"}', "neither an image nor a Dockerfile"),
        ('{"build": {"dockerfile": "../../Dockerfile"}}', "outside of the repository"),
    ],
)
def test_a_devcontainer_that_names_no_image_is_an_error(
    tmp_path: Path, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / ".devcontainer").mkdir()
        (tmp_path / ".devcontainer" / "devcontainer.json").write_text(content)
    with pytest.raises(UsageError, match=said):
        devcontainer.read(tmp_path)


@pytest.mark.parametrize("name", EVERY[1:])
def test_the_environment_has_a_pip_that_installs_into_it(opener: Opener, name: str, project: Path) -> None:
    sandbox = opener(name).sandbox
    sandbox.prepare(
        recipe(project, "pip install --quiet --no-index --find-links vendor -r requirements.txt"), project
    )
    assert use(sandbox, project) == "first\n"


@pytest.mark.parametrize("name", EVERY)
def test_a_package_of_the_registry_can_be_installed(opener: Opener, name: str, project: Path) -> None:
    opened = opener(name)
    wanted = recipe(project, f"{INSTALL} 'iniconfig==2.0.0'")
    try:
        opened.sandbox.prepare(wanted, project)
    except SandboxUnavailable as error:
        if any(word in error.message for word in ("Connection", "connection", "resolution", "No matching")):
            pytest.skip("the package registry is out of reach")
        raise
    with opened.sandbox.open(project) as session:
        shown = session.run(["python", "-c", "import iniconfig; print(iniconfig.__file__)"]).output
    assert "venv" in shown


# --- which interpreter ------------------------------------------------------------------------------------


def make_venv(sandbox: Sandbox, folder: Path) -> None:
    """A virtual environment with one module in it."""
    import subprocess
    import sys

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "tiny.py").write_text(f"VALUE = {folder.name!r}\n")


@pytest.mark.parametrize("name", EVERY[1:])
def test_the_users_environment_comes_first_and_is_not_installed_into(
    opener: Opener, name: str, project: Path, tmp_path: Path
) -> None:
    clean = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    active, own = tmp_path / "active", project / ".venv"
    for folder in (active, own):
        make_venv(opener(name).sandbox, folder)
    for environ, expected in (({**clean, "VIRTUAL_ENV": str(active)}, "active\n"), (clean, ".venv\n")):
        opened = opener(name, environ=environ, repository=project)
        opened.sandbox.prepare(recipe(project), project)
        assert installs(opened) == 0
        tree = tmp_path / f"tree-{expected.strip()}"
        tree.mkdir()
        assert use(opened.sandbox, tree) == expected


def test_an_environment_is_read_only_in_bubblewrap(opener: Opener, project: Path, tmp_path: Path) -> None:
    active = tmp_path / "active"
    opened = opener("bubblewrap", environ={**os.environ, "VIRTUAL_ENV": str(active)})
    make_venv(opened.sandbox, active)
    opened.sandbox.prepare(recipe(project), project)
    with opened.sandbox.open(project) as session:
        assert session.run(f"echo x > {active}/planted").exit_code != 0
    assert not (active / "planted").exists()


def test_the_interpreter_of_a_repository_never_runs_outside(
    opener: Opener, project: Path, tmp_path: Path
) -> None:
    planted = project / "bin"
    planted.mkdir()
    (planted / "python3").write_text(f"#!/bin/sh\necho x > {tmp_path}/ran\n")
    (planted / "python3").chmod(0o755)
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to(planted / "python3")
    (project / ".venv" / "pyvenv.cfg").write_text(f"home = {tmp_path}/bin\n")
    clean = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    environ = {**clean, "PATH": f"{planted}:{os.environ['PATH']}"}
    opened = opener("bubblewrap", environ=environ, repository=project)
    opened.sandbox.prepare(Recipe(language="python", repository=str(project)), project)
    assert not (tmp_path / "ran").exists()
    with opened.sandbox.open(project) as session:
        assert session.run(["python", "-c", "print(1)"]).output == "1\n"
