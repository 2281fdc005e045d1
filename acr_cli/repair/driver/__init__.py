"""What runs inside the sandbox: the tests, once per candidate patch, each in its own forked process.

These files are put into the session's scratch folder and run there by the repository's own interpreter,
under the package name `acr_repair_driver`: hence the relative imports, the standard library alone, and
nothing newer than Python 3.8.
"""
