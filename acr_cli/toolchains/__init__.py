"""One file a language: how its tests are found, installed, run and read."""

from __future__ import annotations

BUILTIN = {
    "python": "acr_cli.toolchains.python:Python",
    "typescript": "acr_cli.toolchains.javascript:TypeScript",
    "javascript": "acr_cli.toolchains.javascript:JavaScript",
    "go": "acr_cli.toolchains.go:Go",
    "rust": "acr_cli.toolchains.rust:Rust",
    "java": "acr_cli.toolchains.java:Java",
    "ruby": "acr_cli.toolchains.ruby:Ruby",
    "php": "acr_cli.toolchains.php:Php",
    "cpp": "acr_cli.toolchains.c:Cpp",
    "c": "acr_cli.toolchains.c:C",
    "command": "acr_cli.toolchains.command:Command",
}
"""Toolchains in the order in which a tree is shown to them; `command` knows every tree, so it is last."""
