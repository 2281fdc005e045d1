"""`python -m acr_cli`, the same as `acr`; without what lies in the folder that it is called in.

Python looks for modules there first, and a repository may hold a `litellm.py` of its own."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from acr_cli.cli.main import program

program()
