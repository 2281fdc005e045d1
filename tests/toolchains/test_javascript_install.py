"""Dependencies of JavaScript, installed for real in the sandbox with each package manager's lock file."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.events import Event, Notice
from acr_cli.protocols import Limits, TestPlan
from acr_cli.records import SuiteReport
from acr_cli.sandbox.choose import open_sandbox
from acr_cli.toolchains.javascript import JavaScript
from acr_cli.verifier.running import SCRATCH, place
from tests.conftest import DOCKER_IMAGE
from tests.toolchains import node_image

PACKAGE = """{"name": "root", "private": true, "version": "1.0.0", "workspaces": ["packages/*"],
 "scripts": {"test": "node --test", "prepare": "exit 7"}, "dependencies": {"is-number": "7.0.0"}}
"""
MEMBER = '{"name": "@small/member", "version": "1.0.0", "main": "index.js"}\n'
FILES = {
    "package.json": PACKAGE,
    "packages/member/package.json": MEMBER,
    "packages/member/index.js": "module.exports = 1;\n",
    "root.test.js": (
        "const test = require('node:test');\n"
        "test('a package is there', () => { if (!require('is-number')(3)) throw new Error('no'); });\n"
        "const member = require('@small/member');\n"
        "test('a member is this tree\\'s own', () => { if (member !== 2) throw new Error('no'); });\n"
    ),
}
PNPM = {
    **FILES,
    "package.json": PACKAGE.replace('"7.0.0"}', '"7.0.0", "@small/member": "workspace:*"}'),
    "pnpm-workspace.yaml": "packages:\n  - packages/*\n",
}
LOCK = {
    "npm": ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit"],
    "yarn": [
        "npx",
        "--yes",
        "yarn@1",
        "install",
        "--ignore-scripts",
        "--no-progress",
        "--mode",
        "update-lockfile",
    ],
    "berry": ["npx", "--yes", "@yarnpkg/cli-dist@4", "install", "--mode", "update-lockfile"],
    "pnpm": ["npx", "--yes", "pnpm@9", "install", "--lockfile-only"],
}


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def run(
    root: Path, home: Path, events: list[Event], *, sandbox: str = "bubblewrap", image: str | None = None
) -> SuiteReport:
    limits = Limits(seconds=120)
    opened = open_sandbox(
        sandbox, run_id="r1", home=home, image=image, limits=limits, emit=events.append,
        environ=dict(os.environ),
    )  # fmt: skip
    chain = JavaScript()
    recipe = chain.recipe(root, setup=None)
    assert recipe is not None
    recipe = replace(recipe, repository=str(root))
    opened.prepare(recipe, root)
    plan = chain.plan(root, command=None, tests=(), scratch=SCRATCH)
    assert isinstance(plan, TestPlan)
    with opened.open(root) as session:
        placed = place(plan, session.scratch)
        session.put(placed.files)
        result = session.run(placed.argv, environment=placed.environment)
        return chain.read(placed, session.get(placed.report), result)


@pytest.mark.parametrize("manager", ["npm", "pnpm", "yarn", "berry"])
def test_packages_come_from_the_lock_file_and_members_from_the_tree(
    manager: str, tmp_path: Path, acr_home: Path, git_repo: Callable[..., Path]
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("needs npm; install with the system's packages")
    root = write(tmp_path / "tree", PNPM if manager == "pnpm" else FILES)
    if manager == "berry":
        (root / "yarn.lock").touch()  # which says that this folder is a project
    certificates = (
        {"NODE_EXTRA_CA_CERTS": os.environ["SSL_CERT_FILE"]} if "SSL_CERT_FILE" in os.environ else {}
    )
    environ = {**os.environ, **certificates, "YARN_ENABLE_IMMUTABLE_INSTALLS": "0"}
    subprocess.run(LOCK[manager], cwd=root, check=True, capture_output=True, timeout=120, env=environ)
    for made in ("node_modules", ".yarn", ".pnp.cjs"):
        shutil.rmtree(root / made, ignore_errors=True)
    events: list[Event] = []
    # What was installed from the baseline serves the change as well.
    before = run(root, acr_home, events)
    (root / "packages/member/index.js").write_text("module.exports = 2;\n")
    after = run(root, acr_home, events)
    assert not before.fault, before
    assert before.passing() == ("root.test.js > a package is there",)
    assert len(after.passing()) == 2
    assert sum(isinstance(e, Notice) and "Installing" in e.text for e in events) == 1


@pytest.mark.parametrize("sandbox", [pytest.param("docker", marks=pytest.mark.docker), "none"])
def test_it_is_the_same_in_an_image_and_on_this_machine(
    sandbox: str, tmp_path: Path, acr_home: Path, request: pytest.FixtureRequest
) -> None:
    if shutil.which("npm") is None:
        pytest.skip("needs npm; install with the system's packages")
    root = write(tmp_path / "tree", FILES)
    events: list[Event] = []
    image = None
    client: Any = None
    if sandbox == "docker":
        client = request.getfixturevalue("docker_engine")
        image = node_image.make(client, DOCKER_IMAGE)
    try:
        for _ in range(2):
            report = run(root, acr_home, events, sandbox=sandbox, image=image)
            assert report.passing() == ("root.test.js > a package is there",), report
        assert sum(isinstance(e, Notice) and "Installing" in e.text for e in events) == 1
    finally:
        for made in client.images.list(filters={"label": f"acr.repository={root}"}) if client else ():
            client.images.remove(str(made.id), force=True)
