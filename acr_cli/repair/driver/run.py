"""The file that the sandbox's interpreter starts; its own folder holds the package `acr_repair_driver`."""

import importlib
import sys

if __name__ == "__main__":
    sys.exit(importlib.import_module("acr_repair_driver.main").main(sys.argv[1:]))
