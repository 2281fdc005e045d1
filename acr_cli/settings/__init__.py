"""Settings: defaults < user file < project file < environment < flags; a project may only narrow."""

from acr_cli.settings.keys import BY_NAME, KEYS, POLICIES, SANDBOXES, Key, parse
from acr_cli.settings.records import ModelEntry, Settings
from acr_cli.settings.sources import (
    PROJECT_FILE,
    Loaded,
    given_flags,
    home_folder,
    load,
    load_environment,
    project_file,
    user_file,
)

__all__ = [
    "BY_NAME",
    "KEYS",
    "POLICIES",
    "PROJECT_FILE",
    "SANDBOXES",
    "Key",
    "Loaded",
    "ModelEntry",
    "Settings",
    "given_flags",
    "home_folder",
    "load",
    "load_environment",
    "parse",
    "project_file",
    "user_file",
]
