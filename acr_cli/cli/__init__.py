"""The command line: one file a command, rendering, the only catch and the only exit."""
