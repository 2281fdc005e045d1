"""The text of a GitHub issue, by its address: title, body, and what its author and the maintainers add.

The token goes to no host but GitHub's own, or to the Enterprise host that GH_HOST names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPMessage
from ipaddress import ip_address
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.redaction import without_keys

_ADDRESS = re.compile(r"/([\w.-]+)/([\w.-]+)/(?:issues|pull)/(\d+)/?")
_SECONDS = 20.0
_BYTES = 4 * 1024 * 1024  # of one answer
_COMMENTS = 50  # looked at
_ROOM = 16_000  # characters of all comments
_BELONGS = ("OWNER", "MEMBER", "COLLABORATOR", "CONTRIBUTOR")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)|<img\b[^>]*>", re.IGNORECASE)
# What a page does not show, and what is shown as it is: code.
_HIDDEN = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)|<!--.*?(?:-->|\Z)", re.DOTALL)
_TAGS = re.compile(r"[\U000e0000-\U000e0fff]")  # letters that nobody sees and models read
_BY_HAND = "Save its text in a file, and give that: --issue FILE."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where an issue is asked for, and with which token; `variable` is what a user sets it by."""

    url: str
    token: str
    variable: str


def read_issue(address: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The issue's text, and a remark for the user ("" for none).

    Raises: UsageError, ConfigurationError; each is one sentence."""
    place = _place(address, environ)
    address = without_keys(address)  # from here on it is only shown
    issue = _ask(address, place, place.url)
    comments: Any = []
    if isinstance(issue, dict) and isinstance(count := issue.get("comments"), int) and count > 0:
        comments = _ask(address, place, f"{place.url}/comments?per_page={_COMMENTS}")
    return told(address, issue, comments)


def told(address: str, issue: Any, comments: Any) -> tuple[str, str]:
    """The same from the answers of the service, which are not trusted. Pure. Raises: UsageError."""
    if not isinstance(issue, dict) or not isinstance(issue.get("title"), str):
        raise UsageError(f"{address}: the answer is no issue.", hint=_BY_HAND)
    body = _seen(issue.get("body"))
    text = "\n\n".join(part for part in (issue["title"].strip(), body, *_said(issue, comments)) if part)
    pictures = len(_IMAGE.findall(text))
    remark = (
        f"{pictures} picture{'s' if pictures > 1 else ''} in the issue cannot be seen." if pictures else ""
    )
    return text, remark


def _place(address: str, environ: Mapping[str, str]) -> _Place:
    """Raises: UsageError for what is not the address of an issue."""
    parts = urlsplit(address)
    found = _ADDRESS.fullmatch(parts.path)
    host = parts.netloc.lower()
    if found is None or not host or "@" in host:
        raise UsageError(
            f"{without_keys(address)} is not the address of a GitHub issue.",
            hint="One looks like https://github.com/OWNER/REPOSITORY/issues/1; give other texts as a file.",
        )
    if parts.scheme != "https" and not _is_this_machine(parts.hostname or ""):
        raise UsageError(f"{without_keys(address)} is not encrypted.", hint="Begin it with https://.")
    owner, repository, number = found.groups()
    path = f"repos/{owner}/{repository}/issues/{number}"
    if host in ("github.com", "www.github.com"):
        token = environ.get("GH_TOKEN") or environ.get("GITHUB_TOKEN") or ""
        return _Place(url=f"https://api.github.com/{path}", token=token, variable="GITHUB_TOKEN")
    token = environ.get("GH_ENTERPRISE_TOKEN") or environ.get("GITHUB_ENTERPRISE_TOKEN") or ""
    trusted = environ.get("GH_HOST", "").lower() == host
    return _Place(
        url=f"{parts.scheme}://{host}/api/v3/{path}",
        token=token if trusted else "",
        variable=f"GH_ENTERPRISE_TOKEN, and GH_HOST to {host}",
    )


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _ask(address: str, place: _Place, url: str) -> Any:
    """The JSON at a URL. Raises: UsageError, ConfigurationError."""
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "acr"}
    if place.token:
        headers["Authorization"] = f"Bearer {place.token}"
    try:
        # The URL begins with https://, or leads to this machine: `_place` has seen to it.
        request = Request(url, headers=headers)  # noqa: S310
        with build_opener(_SameHost).open(request, timeout=_SECONDS) as answer:
            data = answer.read(_BYTES + 1)
        if len(data) > _BYTES:
            raise UsageError(f"{address}: the answer is longer than {_BYTES >> 20} MiB.", hint=_BY_HAND)
        return json.loads(data)
    except HTTPError as error:
        with error:
            raise _refused(address, place, error) from None
    except (URLError, OSError) as error:
        raise UsageError(f"{address} cannot be reached: {_why(error)}.", hint=_BY_HAND) from None
    except HTTPException:  # of a proxy too, whose address, with its password, it would repeat
        raise UsageError(
            f"{address} cannot be reached: what answers speaks no HTTP.", hint=_BY_HAND
        ) from None
    except (ValueError, RecursionError):
        raise UsageError(f"{address}: the answer cannot be read.", hint=_BY_HAND) from None


class _SameHost(HTTPRedirectHandler):
    """Follows a renamed repository, and nobody who would lead the token elsewhere."""

    def redirect_request(  # noqa: PLR0917  the signature is urllib's
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl)[:2] != urlsplit(req.full_url)[:2]:
            return None
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _refused(address: str, place: _Place, error: HTTPError) -> UsageError | ConfigurationError:
    limited = error.headers.get("x-ratelimit-remaining") == "0" or error.code == 429
    more = f"Set {place.variable}." if not place.token else _BY_HAND
    if limited:
        return UsageError(f"{address}: GitHub takes no more requests for now.", hint=more)
    if error.code == 401:
        return ConfigurationError(f"{address}: the token was refused.", hint=f"Renew it: {place.variable}.")
    if error.code in (403, 404, 410):
        what = "is not there, or" if error.code != 403 else "is private:"
        whose = "your token may not read it" if place.token else "it takes a token to read it"
        return UsageError(f"{address} {what} {whose}.", hint=more)
    return UsageError(f"{address}: GitHub failed with status {error.code}.", hint=_BY_HAND)


def _why(error: OSError) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    return (getattr(reason, "strerror", None) or str(reason)).lower().rstrip(".")


def _said(issue: Mapping[str, Any], comments: Any) -> list[str]:
    """Comments of the author and of those who belong to the repository, as far as there is room; no bots."""
    author = _login(issue)
    parts: list[str] = []
    room = _ROOM
    for comment in comments if isinstance(comments, list) else ():
        if not isinstance(comment, dict):
            continue
        user = comment.get("user")
        is_bot = isinstance(user, dict) and user.get("type") == "Bot"
        belongs = comment.get("author_association") in _BELONGS or _login(comment) == author
        body = _seen(comment.get("body"))
        if is_bot or not belongs or not body or len(body) > room:
            continue
        room -= len(body)
        parts.append(f"Comment by {_login(comment)}:\n{body}")
    return parts


def _seen(body: Any) -> str:
    """What somebody who looks at the page reads: no orders to models in comments of HTML. Pure."""
    text = _TAGS.sub("", str(body or "").replace("\r\n", "\n"))
    return _HIDDEN.sub(lambda found: found[1] or "", text).strip()


def _login(said: Mapping[str, Any]) -> str:
    user = said.get("user")
    return str(user.get("login") or "") if isinstance(user, dict) else ""
