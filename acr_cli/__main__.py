"""`python -m acr_cli`, the same as `acr`."""

import sys

from acr_cli.cli.main import main

sys.exit(main())
