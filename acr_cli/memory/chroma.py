"""Clients of Chroma: of a folder on this machine, and of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acr_cli.errors import StoreError

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

SECONDS = 30.0  # for one request to a server
SPACE: Any = {"hnsw": {"space": "cosine"}}


def load() -> None:
    """Import all that a client of a folder needs."""
    _read_no_dotenv()
    import chromadb.api.rust
    import chromadb.telemetry.product.posthog  # noqa: F401  named by Chroma's settings, not imported by it


def open_folder(path: Path) -> Any:
    """A client of a folder; its declared type lacks `close`. May raise or hang when the folder is damaged."""
    _read_no_dotenv()
    import chromadb

    return chromadb.PersistentClient(path=str(path), settings=_settings())


def open_server(
    *,
    host: str,
    port: int,
    tls: bool,
    headers: Mapping[str, str],
    tenant: str,
    database: str,
    seconds: float = SECONDS,
) -> Any:
    """A client of a server, each request of which ends after `seconds`. Raises: ServerFailed."""
    _read_no_dotenv()
    import chromadb
    import httpx

    name = f"[{host}]" if ":" in host else host
    with failures(host):
        # Chroma's client begins with this request, and would wait for its answer for ever.
        address = f"{'https' if tls else 'http'}://{name}:{port}/api/v2/auth/identity"
        httpx.get(address, headers=dict(headers), timeout=seconds)
        client = chromadb.HttpClient(
            host=host,
            port=port,
            ssl=tls,
            headers=dict(headers),
            tenant=tenant,
            database=database,
            settings=_settings(),
        )
    for session in _sessions(client):
        session.timeout = seconds  # Chroma itself would wait for ever
    return client


def collection(client: Any, name: str, metadata: Mapping[str, str]) -> Collection:
    """The collection of this name, made when there is none; vectors are always given, never computed."""
    found: Collection = client.get_or_create_collection(
        name, embedding_function=None, configuration=SPACE, metadata=dict(metadata)
    )
    return found


def close(client: Any) -> None:
    """Let go of a client and of all that Chroma shares between clients."""
    from chromadb.api.shared_system_client import SharedSystemClient

    sessions = list(_sessions(client))
    client.close()
    for session in sessions:
        session.close()  # Chroma leaves its connections open
    SharedSystemClient.clear_system_cache()


def _sessions(client: Any) -> Iterator[Any]:
    """The HTTP clients below a server's client."""
    for part in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(part, "_server", None), "_session", None)
        if session is not None:
            yield session


class ServerFailed(StoreError):
    """A Chroma server that cannot be reached, or that refuses."""

    id = "memory-server"


@contextmanager
def failures(host: str) -> Iterator[None]:
    """What a server's client raises, as `ServerFailed`."""
    _read_no_dotenv()
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except (httpx.InvalidURL, ImportError):  # the address has been read before: it is a proxy's
        raise ServerFailed(
            f"The team memory at {host} did not take part: a proxy variable names none that can be used.",
            hint="Look at HTTPS_PROXY, HTTP_PROXY and ALL_PROXY.",
        ) from None
    except (httpx.HTTPError, ChromaError, ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ServerFailed(
            f"The team memory at {host} did not take part: {reason.rstrip('.')}.",
            hint="Check memory.url and the token; what is not sent goes with the next try.",
        ) from error


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def _read_no_dotenv() -> None:
    """Chroma takes settings from `.env` of the folder that acr is called in, as it is imported and later: a
    repository's own could name classes to load, addresses to report to, and whom not to check."""
    from pydantic_settings import DotEnvSettingsSource

    made = DotEnvSettingsSource.__init__
    if made.__name__ != "without":

        def without(self: DotEnvSettingsSource, settings_cls: Any, env_file: Any = None, **more: Any) -> None:  # noqa: ARG001
            made(self, settings_cls, None, **more)

        DotEnvSettingsSource.__init__ = without  # type: ignore[method-assign,assignment]
