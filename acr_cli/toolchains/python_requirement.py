"""Requirements in other spellings than pip's: poetry's and pipenv's tables, and the calls in a setup.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any


def split_lines(text: str) -> list[str]:
    """The requirements of a file or an ini value: comments, blank lines and continuations are gone. Pure."""
    joined = text.replace("\\\n", " ")
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
    return [line for line in lines if line]


def from_poetry(name: str, wanted: Any) -> Iterator[str]:
    """A dependency of poetry's or pipenv's tables as pip writes it; folders are left out."""
    if name == "python":
        return
    if isinstance(wanted, list):  # poetry: one entry a platform or Python version
        for entry in wanted:
            yield from from_poetry(name, entry)
        return
    table = wanted if isinstance(wanted, dict) else {"version": wanted}
    if "path" in table or table.get("optional"):
        return
    named = table.get("extras")
    extras = f"[{','.join(map(str, named))}]" if isinstance(named, list) and named else ""
    markers = f" ; {table['markers']}" if table.get("markers") else ""
    if "git" in table:
        revision = next((f"@{table[k]}" for k in ("rev", "tag", "branch", "ref") if k in table), "")
        yield f"{name}{extras} @ git+{table['git']}{revision}{markers}"
    elif "url" in table:
        yield f"{name}{extras} @ {table['url']}{markers}"
    else:
        yield f"{name}{extras}{bounds(str(table.get('version', '*')))}{markers}"


def bounds(version: str) -> str:
    """Poetry's constraint as pip's: "^1.2" -> ">=1.2,<2", "~1.2" -> ">=1.2,<1.3", "1.2" -> "==1.2". Pure."""
    return ",".join(part for part in (_bound(p.strip()) for p in version.split(",")) if part)


def _bound(part: str) -> str:
    if part in ("", "*"):
        return ""
    if part.startswith("^") or (part.startswith("~") and not part.startswith("~=")):
        number = part[1:].strip()
        release = [int(n) for n in re.findall(r"\d+", re.split(r"[a-z+-]", number, maxsplit=1)[0])]
        return f">={number},<{_next(release, caret=part.startswith('^'))}"
    return part.replace(" ", "") if part[0] in "<>=!~" else f"=={part}"


def _next(release: list[int], *, caret: bool) -> str:
    """The first release that a caret or tilde leaves out."""
    if caret:
        place = next((i for i, n in enumerate(release) if n), len(release) - 1)
    else:
        place = min(1, len(release) - 1)
    return ".".join(str(n) for n in [*release[:place], release[place] + 1])


def from_setup_py(source: str, groups: Iterable[str]) -> Iterator[str]:
    """The literal lists in the call of `setup`; what is computed cannot be known without running it."""
    for given in setup_calls(source):
        yield from _flat(given.get("install_requires"))
        yield from _flat(given.get("tests_require"))
        extras = given.get("extras_require")
        if isinstance(extras, dict):
            for group in groups:
                yield from _flat(extras.get(group))


def setup_calls(source: str) -> Iterator[dict[str | None, Any]]:
    """The keyword arguments of each call of `setup`; None for a value that is computed. Pure."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "setup":
            yield {word.arg: _literal(word.value) for word in call.keywords}


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _flat(value: Any) -> list[str]:
    if isinstance(value, str):
        return split_lines(value)
    return [str(entry) for entry in value] if isinstance(value, (list, tuple)) else []
