"""Entry: `run.py survey|search REQUEST RESULT`, both files JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback

from .children import adopt_orphans
from .search import search
from .survey import Survey


def main(argv: list[str]) -> int:
    mode, request_file, result_file = argv
    with open(request_file, encoding="utf-8") as source:
        request = json.load(source)
    sys.path[:] = [entry for entry in sys.path if entry != request["scratch"]]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    adopt_orphans()
    # Once here, so that no child has to.
    if (request.get("runner") or "pytest") == "pytest" and importlib.util.find_spec("pytest"):
        import pytest  # noqa: F401
    else:
        from . import unittests  # noqa: F401
    if mode == "survey":
        try:
            report = Survey(request).report()
        except Exception:  # noqa: BLE001 - the host cannot see this process; it reads the report
            report = {"error": traceback.format_exc()[-2000:]}
        with open(result_file, "w", encoding="utf-8") as target:
            json.dump(report, target)
    else:
        search(request, result_file)
    return 0
