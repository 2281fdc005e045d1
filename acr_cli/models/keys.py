"""Which key goes where: a key only to its provider's built-in host, or to the base URL of the user's config.

litellm takes base URLs from the environment too, where anything could have put them. They are hidden from it
while it prepares a request. Variables that name proxies stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING

from acr_cli.errors import AuthenticationFailed
from acr_cli.models.prices import is_loopback, provider_of

if TYPE_CHECKING:
    from acr_cli.records import Candidate

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "anthropic": ("ANTHROPIC_API_KEY",),
        "openai": ("OPENAI_API_KEY",),
        "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "deepseek": ("DEEPSEEK_API_KEY",),
        "dashscope": ("DASHSCOPE_API_KEY",),
        "moonshot": ("MOONSHOT_API_KEY",),
        "zai": ("ZAI_API_KEY",),
        "minimax": ("MINIMAX_API_KEY",),
        "xai": ("XAI_API_KEY",),
        "mistral": ("MISTRAL_API_KEY",),
        "openrouter": ("OPENROUTER_API_KEY",),
        "groq": ("GROQ_API_KEY",),
        "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"),
        "fireworks_ai": ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"),
        "azure": ("AZURE_API_KEY",),
    }
)
"""The variables that hold a provider's key, the first one named to the user."""

NO_KEY = "none"
"""Sent where a server asks for no key: the client libraries insist on one."""

_REDIRECTS = re.compile(
    r"(_API_BASE|_BASE_URL|_API_URL|_ENDPOINT|_AUTH_URL|_IAM_URL)(_[A-Z]+)?$|"
    r"^(DATABRICKS_HOST|WX_URL|WML_URL|WATSONX_URL)$"
)
_lock = Lock()


def variables(candidate: Candidate) -> tuple[str, ...]:
    """The environment variables that may hold this candidate's key; () where none is sent."""
    if candidate.api_key_env:
        return (candidate.api_key_env,)
    if candidate.base_url is not None or not candidate.model:
        return ()
    return KEY_VARIABLES.get(provider_of(candidate.model) or "openai", ())


def missing_key(candidate: Candidate, environ: Mapping[str, str]) -> str:
    """The variable that must be set before this candidate can answer; "" when nothing is missing. Pure."""
    names = variables(candidate)
    if any(environ.get(name) for name in names):
        return ""
    if candidate.base_url is not None and is_loopback(candidate.base_url):
        return ""  # a server on this machine seldom asks for one
    return names[0] if names else ""


def needs_key(candidate: Candidate, variable: str) -> AuthenticationFailed:
    """The error of a candidate whose key is missing. Pure."""
    return AuthenticationFailed(
        f"{candidate.id} needs {variable}, which is not set.",
        hint=f"Set {variable} in the environment or in ~/.acr/.env.",
    )


def key_for(candidate: Candidate, environ: Mapping[str, str]) -> str | None:
    """The key to send, `NO_KEY` to an endpoint that has none, None where litellm has ways of its own.

    Raises: AuthenticationFailed that names the variable."""
    if missing := missing_key(candidate, environ):
        raise needs_key(candidate, missing)
    held = next((name for name in variables(candidate) if environ.get(name)), None)
    if held is None:
        return None if candidate.base_url is None else NO_KEY
    key = environ[held].strip()
    if not key or not (key.isascii() and key.isprintable()):
        # What puts it into a header would repeat it in its error, as it would be written in Python.
        raise AuthenticationFailed(
            f"{candidate.id}: {held} holds no key: it is empty, or has a line break or a sign beyond ASCII.",
            hint=f"Set {held} anew, to the key alone.",
        )
    return key


@contextmanager
def no_redirects() -> Iterator[None]:
    """Hide the variables that would send a request, and the key with it, to another host."""
    with _lock:
        hidden = {name: value for name, value in os.environ.items() if _REDIRECTS.search(name)}
        for name in hidden:
            del os.environ[name]
        try:
            yield
        finally:
            os.environ.update(hidden)
