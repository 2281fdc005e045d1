"""What the HTTP library takes from the environment, looked at before it is used: proxies and certificates.

What is wrong there ends every request, and the library's own errors quote a part of it: of a password, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from acr_cli.errors import ConfigurationError

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def check(environ: Mapping[str, str] = os.environ) -> None:
    """Raises: ConfigurationError that names the variables, and does not repeat what they hold."""
    proxies = [name for name in _PROXIES if environ.get(name)]
    certificates = [name for name in _CERTIFICATES if environ.get(name)]
    if not proxies and not certificates:
        return
    import httpx

    try:
        httpx.Client().close()
    except ImportError:
        raise ConfigurationError(
            f"{', '.join(proxies)}: a SOCKS proxy cannot be used without the package socksio.",
            hint="Install it beside acr (pip install socksio), or name an http:// proxy.",
        ) from None
    except OSError:
        raise ConfigurationError(
            f"{', '.join(certificates)}: no certificates can be read there.",
            hint="Name a file in PEM format, or unset it.",
        ) from None
    except (httpx.InvalidURL, ValueError):
        raise ConfigurationError(
            f"{', '.join(proxies)}: one is no proxy that can be used.",
            hint="One looks like http://proxy.example.org:8080; in a password / is written %2F, and @ %40.",
        ) from None
