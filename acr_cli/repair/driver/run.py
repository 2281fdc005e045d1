"""The file that the sandbox's interpreter starts; its own folder holds the package `acr_repair_driver`."""

import sys

from acr_repair_driver.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
