"""Files that tools run without being asked: by opening a folder, pulling, pushing, installing or testing.

No test shows what a change of theirs does once it lies in the user's tree. So a patch that touches them is
applied only when the user has been shown them, or has allowed their paths beforehand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from acr_cli.worktree.delivery import Change, Content

_TABLE: Mapping[str, tuple[str, ...]] = {
    "CI runs it": (
        *(".github/workflows/*", ".github/actions/*", "action.yml", "action.yaml", ".circleci/*"),
        *(".gitlab-ci.yml", ".gitlab-ci.yaml", ".gitlab/*", ".travis.yml", "azure-pipelines*.yml"),
        *("jenkinsfile*", ".buildkite/*", ".drone.yml", ".woodpecker.yml", ".woodpecker/*", ".cirrus.yml"),
        *("bitbucket-pipelines.yml", "appveyor.yml", ".appveyor.yml", "cloudbuild.y*ml", "buildspec.y*ml"),
        *(".forgejo/workflows/*", ".gitea/workflows/*", ".semaphore/*", ".github/dependabot.yml"),
    ),
    "the shell runs it on entering the folder": (
        *(".envrc", ".env", ".autoenv*", ".mise.toml", "mise.toml", ".mise/*", ".config/mise/*"),
        *(".tool-versions", ".direnv/*", ".devenv*", "devenv.nix", "flake.nix", "shell.nix"),
    ),
    "an editor or an assistant runs it": (
        *(".vscode/*", ".idea/*", "*.code-workspace", ".devcontainer/*", ".devcontainer.json", ".zed/*"),
        *(".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".dir-locals.el", ".fleet/*", ".cursor/*"),
        *(".claude/*", ".mcp.json", ".gemini/*", "*.sublime-project", ".pylintrc", ".gdbinit", ".lldbinit"),
    ),
    "assistants do what it says": (
        *("agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".cursorrules"),
        *(".windsurfrules", ".windsurf/*", ".clinerules*", ".clinerules/*", ".roo/*", ".roorules*"),
        *(".github/copilot-instructions.md", ".github/instructions/*", ".github/prompts/*", ".aider*"),
        *(".junie/*", ".kiro/*", ".amazonq/*", ".acr.toml"),
    ),
    "git or its hooks run it": (
        *(
            ".gitattributes",
            ".gitmodules",
            ".gitconfig",
            ".husky/*",
            ".githooks/*",
            ".lefthook*",
            "lefthook*",
        ),
        *(".pre-commit-config.yaml", ".pre-commit-hooks.yaml", ".overcommit.yml", ".simple-git-hooks*"),
        *(".lintstagedrc*", "lint-staged.config.*", ".huskyrc*"),
    ),
    "installing or building runs it": (
        *("setup.py", "build.rs", "binding.gyp", ".npmrc", ".yarnrc*", ".yarn/*", ".pnpmfile.cjs", ".pnp.*"),
        *("bunfig.toml", "pip.conf", ".pip/*", ".cargo/*", "gradlew", "gradlew.bat", "gradle/wrapper/*"),
        *("mvnw", "mvnw.cmd", ".mvn/*", "init.gradle*", "buildsrc/*", ".bundle/*", "extconf.rb", ".bazelrc"),
    ),
    "Python or its tests run it": ("conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth"),
}
"""Why, and patterns in lower case. One without a slash fits a name in any folder; one that ends with /* all
that lies below a folder of that name, wherever it is; another one the end of a path."""

_SCRIPTS = ("scripts", "husky", "simple-git-hooks", "lint-staged", "pre-commit", "gypfile")
"""Of a package.json or composer.json: keys whose values are run."""


def why_unasked(path: str, change: Change | None = None) -> str:
    """Why a changed file is run unasked; "" for one that is not. Pure."""
    lowered = PurePosixPath(path.lower())
    for why, patterns in _TABLE.items():
        if any(_fits(lowered, pattern) for pattern in patterns):
            return why
    is_manifest = lowered.name in ("package.json", "composer.json")
    if is_manifest and (change is None or _run(change.before) != _run(change.after)):
        return "installing or building runs its scripts"
    return ""


def unasked(changes: Mapping[str, Change | None], *, allowed: Sequence[str] = ()) -> dict[str, str]:
    """By path, why it is run unasked, of those changed files that are and that no `allowed` pattern fits.

    Pure. `None` for a change whose contents are not known."""
    return {
        path: why
        for path, change in sorted(changes.items())
        if (why := why_unasked(path, change)) and not any(fnmatchcase(path, glob) for glob in allowed)
    }


def _fits(path: PurePosixPath, pattern: str) -> bool:
    if pattern.endswith("/*"):
        return f"/{pattern[:-1]}" in f"/{path}"
    if "/" in pattern:
        return f"/{path}".endswith(f"/{pattern}")
    return fnmatchcase(path.name, pattern)


def _run(content: Content | None) -> Any:
    """What of a manifest is run; of one that cannot be read, all of it."""
    if content is None:
        return {}
    try:
        document = json.loads(content.data)
        return {key: document[key] for key in _SCRIPTS if document.get(key)}
    except (ValueError, AttributeError, RecursionError):
        return content.data
