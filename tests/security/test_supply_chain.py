"""What is shipped and rests below: no network at import, nothing evaluated, locked, fit licences."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import acr_cli
from tests.benchmarks.audit import acceptable, belongs_here, pinned

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "acr_cli").rglob("*.py"))
LOCKS = ("requirements/dev.txt", "requirements/local.txt", "requirements/tools.txt")
# Programs and plugins that run in a sandbox, not in acr.
INSIDE = ("repair/driver", "toolchains/injected")
NO_NETWORK = """
import importlib, socket, sys
def refused(*_, **__):
    raise SystemExit("the network is used at import")
for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refused)
socket.getaddrinfo = socket.gethostbyname = socket.create_connection = refused
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules() -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(acr_cli.__path__, "acr_cli.")]
    parts = (".injected", ".driver", ".testing", ".__main__")
    return [name for name in found if not any(part in name for part in parts)]


def test_no_module_uses_the_network_when_it_is_imported() -> None:
    names = modules()
    assert len(names) > 250
    run = [sys.executable, "-c", NO_NETWORK]
    done = subprocess.run([*run, *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    asks = [*run[:-1], NO_NETWORK + "\nsocket.create_connection(('127.0.0.1', 9))"]
    assert subprocess.run(asks, cwd=ROOT, capture_output=True, check=False).returncode == 1


def called(tree: ast.Module) -> list[tuple[str, ast.Call]]:
    """Each call, by the name as it is written."""
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_unpickled_evaluated_or_given_to_a_shell(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = any(part in path.as_posix() for part in INSIDE)
    for name, call in called(tree):
        given = {each.arg: ast.unparse(each.value) for each in call.keywords}
        assert not re.fullmatch(r"(c?[Pp]ickle|dill|marshal|shelve|joblib)\.(loads?|open)", name), name
        assert name not in ("os.system", "os.popen", "yaml.load", "subprocess.getoutput"), name
        assert inside or name not in ("eval", "exec", "__import__"), name
        assert given.get("shell", "False") == "False", name
        assert not name.endswith("torch.load"), name


@pytest.mark.parametrize("lock", LOCKS)
def test_each_locked_package_has_one_version_and_hashes(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) > 10
    for block in blocks:
        assert re.match(r"[\w.-]+(\[[^\]]*\])?==\S+", block), block[:80]
        assert "--hash=sha256:" in block, block[:80]
    assert not re.search(r"https?://|--index-url|--find-links", text)


@pytest.mark.parametrize(
    "said", ["GPL-3.0-only", "AGPL v3", "Proprietary", "GNU General Public License (GPL)", "x"]
)
def test_a_licence_that_binds_is_refused(said: str) -> None:
    assert not acceptable(said)
    assert not acceptable(f"MIT AND {said}") or said == "x"
    assert acceptable(f"MIT OR {said}")


def test_a_package_that_belongs_here_is_never_skipped() -> None:
    lock = "a==1 \\\n    --hash=sha256:0\nb==2 ; sys_platform == 'win32' \\\n    --hash=sha256:0\nc[x]==3\n"
    found = pinned(lock)
    assert [name for name, _ in found] == ["a", "b", "c"]
    assert [belongs_here(marker) for _, marker in found] == [True, sys.platform == "win32", True]
