"""One tree of errors; each knows its exit code, a stable id and what the user can do about it.

Only `cli.main` catches `AcrError`. Errors of other libraries are mapped to these in the one file that
wraps the library.
"""

from __future__ import annotations

from typing import ClassVar


class AcrError(Exception):
    """Something the user can understand: one clear sentence, and a hint that says what to do."""

    exit_code: ClassVar[int] = 1
    id: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(AcrError):
    """The command line, or the lack of an answer that only a terminal could give."""

    exit_code = 2
    id = "usage"


class ConfigurationError(AcrError):
    """A configuration file, an environment variable or a credential is wrong or absent."""

    exit_code = 3
    id = "configuration"


class NoEligibleModel(ConfigurationError):
    """A task that needs a language model, and no model that may take it."""

    id = "no-eligible-model"


class SandboxUnavailable(AcrError):
    """No sandbox can be had, or its image or environment cannot be made."""

    exit_code = 4
    id = "no-sandbox"


class SandboxBroken(SandboxUnavailable):
    """The sandbox stopped working in the middle of a run: it ends, and nobody is to blame."""

    id = "sandbox-broken"


class BaselineCannotStart(AcrError):
    """The tests cannot even start in the sandbox: no model is paid."""

    exit_code = 4
    id = "baseline-cannot-start"


class ProviderError(AcrError):
    """A model's provider failed; the attempt is void and says nothing about the model's quality."""

    exit_code = 5
    id = "provider"
    retryable: ClassVar[bool] = False

    def __init__(
        self, message: str, *, hint: str = "", retry_after: float | None = None, was_read: bool = False
    ) -> None:
        """`was_read`: the provider took the request, and may bill it although it said nothing."""
        super().__init__(message, hint=hint)
        self.retry_after = retry_after
        self.was_read = was_read


class ProviderUnavailable(ProviderError):
    """Overloaded, unreachable, timed out, or a stream that was cut: worth another try."""

    id = "provider-unavailable"
    retryable = True


class ProviderTooSlow(ProviderUnavailable):
    """A stream that goes on and comes to nothing: another try would take as long."""

    id = "provider-too-slow"
    retryable = False


class RateLimited(ProviderUnavailable):
    """429; `retry_after` holds the seconds that the provider asked for, if it did."""

    id = "rate-limited"


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong, expired or without the right."""

    id = "authentication"


class ModelNotFound(ProviderError):
    """The provider does not know this model."""

    id = "model-not-found"


class ContextTooLong(ProviderError):
    """The conversation does not fit into the model's context, or was cut without a word."""

    id = "context-too-long"


class RequestRefused(ProviderError):
    """The provider refused the request: malformed, or against its content rules."""

    id = "request-refused"


class BadReply(ProviderError):
    """A reply that cannot be read: no choices, invalid JSON, or empty."""

    id = "bad-reply"
    retryable = True


class BudgetExhausted(AcrError):
    """A cap of money, steps or time is reached; raised before the call that would break it."""

    exit_code = 6
    id = "budget"


class RepositoryRefused(AcrError):
    """Not a repository that acr works in: none, bare, the home directory, a submodule, a symlink loop."""

    exit_code = 9
    id = "repository"


class PathRefused(AcrError):
    """A path that leaves the run's tree or that may not be written; goes back to the model."""

    id = "path"


class TreeDamaged(AcrError):
    """Of the run's tree something has vanished, and nobody was asked to delete it."""

    id = "tree"


class PatchConflict(AcrError):
    """The files that the patch touches have changed meanwhile; nothing was written."""

    id = "conflict"


class StoreError(AcrError):
    """The store cannot be read or written."""

    id = "memory"


class Interrupted(AcrError):
    """Ctrl-C or SIGTERM."""

    exit_code = 130
    id = "interrupted"


class Cancelled(Interrupted):
    """An attempt beside others ends, since one of them has succeeded or the run does."""

    id = "cancelled"
