"""Secrets and people, taken out of texts before they are kept. Pure.

Shapes of keys that their issuers document, values beside names like `password`, credentials in URLs and
headers, e-mail addresses, the name in a home folder, and long random strings. What is taken out leaves its
kind in brackets, so that the text stays readable; to redact twice changes nothing more. A text that only
speaks of tokens and passwords is left alone. No list is complete: what is in no known shape, is short and
stands beside no telling name, stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from math import log2
from typing import Any

_KEYS = r"""
    (?:AKIA|ASIA|AIDA|AROA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])        # Amazon
  | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,}
  | gl(?:pat|dt|rt|ptt|oas|soat|ft|imt|agent|cbt)-[\w-]{16,}            # GitLab
  | xox[abceoprs]-[\w-]{10,} | xapp-\d-[\w-]{10,}                       # Slack
  | (?:sk|rk|pk)_(?:live|test)_\w{10,} | whsec_\w{16,}                  # Stripe
  | sk-[A-Za-z0-9_-]{16,} | gsk_\w{20,} | xai-\w{20,} | pplx-\w{20,} | r8_\w{20,} | hf_[A-Za-z0-9]{20,}
  | AIza[\w-]{30,} | ya29\.[\w.-]{10,} | GOCSPX-[\w-]{20,} | 1//0[\w-]{20,}   # Google
  | npm_[A-Za-z0-9]{30,} | pypi-[\w-]{16,} | rubygems_[a-f0-9]{32,} | dckr_(?:pat|oat)_[\w-]{20,}
  | SG\.[\w-]{16,}\.[\w-]{16,} | key-[0-9a-f]{32} | (?:SK|AC)[0-9a-f]{32}     # SendGrid, Mailgun, Twilio
  | do[opr]_v1_[a-f0-9]{32,} | dapi[a-f0-9]{32} | shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}
  | sq0[a-z]{3}-[\w-]{20,} | EAAA[\w-]{50,} | PMAK-[a-f0-9]{20,}[\w-]* | NRAK-[A-Z0-9]{20,}
  | glsa_\w{20,} | lin_api_\w{20,} | ntn_\w{20,} | figd_[\w-]{20,} | sbp_[a-f0-9]{30,} | tskey-[\w-]{16,}
  | hv[sbr]\.[\w-]{20,} | [A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,} | AGE-SECRET-KEY-1[0-9A-Z]{50,}
  | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*                                      # JSON web tokens
  | [MNO][\w-]{22,26}\.[\w-]{6}\.[\w-]{25,} | \d{8,10}:AA[\w-]{30,}      # Discord, Telegram
"""
_TELLING = (
    r"(?:pass(?:word|wd|phrase|code)|passwort|pwd|secret|token|api[_-]?key|apikey|access[_-]?key|account[_-]?key"
    r"|private[_-]?key|signing[_-]?key|encryption[_-]?key|credentials?|client[_-]?secret|auth[_-]?key|pin[_-]?code)"
)
# What stands beside such a name in code and prose and is no secret.
_HARMLESS = (
    r"(?!\[|\$|%|\{|<|(?:None|True|False|null|nil|undefined|str|int|bytes|bool|string|float|Any|Optional|list|dict"
    r"|tuple|object|self|is|was|are|not|and|or|the|an?|expired|invalid|missing|wrong|required|empty)\b(?!['\"]))"
)

_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY( BLOCK)?-----.*?(?:-----END [^\n]*?-----|\Z)", re.DOTALL
        ),
        "[private key]",
    ),
    (re.compile(rf"(?<![A-Za-z0-9])(?:{_KEYS})", re.VERBOSE), "[key]"),
    (re.compile(r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)[\w/-]+"), r"\1[key]"),
    (
        re.compile(r"((?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://)[^\s/@:'\"]*:[^\s/'\"]+@", re.IGNORECASE),
        r"\1[password]@",
    ),
    (re.compile(r"((?<![a-z0-9+.-])(?:git\+)?https?://)(?!\[)[^\s/:'\"]+@", re.IGNORECASE), r"\1[password]@"),
    (
        re.compile(
            r"((?:proxy-)?authorization['\"]?\s*[:=]\s*['\"]?)(?!\[)(?:(?:bearer|basic|token|digest|negotiate)\s+)?"
            r"[^\s'\",]+",
            re.IGNORECASE,
        ),
        r"\1[secret]",
    ),
    (re.compile(r"\b((?:bearer|basic)\s+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{12,}", re.IGNORECASE), r"\1[secret]"),
    (re.compile(r"\b((?:set-)?cookie['\"]?\s*:\s*)[^\s\[][^\r\n]*", re.IGNORECASE), r"\1[secret]"),
    (re.compile(r"(\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?)(?!\[)\S+:\S+"), r"\1[password]"),
    (re.compile(rf"(--?{_TELLING}[ =]){_HARMLESS}(?:\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE), r"\1[secret]"),
    (
        re.compile(
            rf"({_TELLING}[\w.-]{{0,40}}['\"]?\]?\s*(?:=>|:=|=(?!=)|:)\s*)(?:[rbfu]{{0,2}}(?=['\"]))?{_HARMLESS}"
            r"(?:\"(?:[^\"\\\n]|\\.){1,500}\"|'(?:[^'\\\n]|\\.){1,500}'|[^\s,;&'\"()\[\]{}<>]{3,}(?![\w(\[]))",
            re.IGNORECASE,
        ),
        r"\1[secret]",
    ),
    (
        re.compile(
            rf"(\b{_TELLING}\s+(?:is|was)\s+){_HARMLESS}(?:\"[^\"\n]+\"|'[^'\n]+'|\S*\d\S*)", re.IGNORECASE
        ),
        r"\1[secret]",
    ),
    (
        re.compile(r"([?&;](?:sig|signature|key|sas|code|auth)=)(?!\[)[^\s&'\"]{8,}", re.IGNORECASE),
        r"\1[secret]",
    ),
)
_PEOPLE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![\w.+-])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"), "[e-mail]"),
    (re.compile(r"(?<![\w.])(?:/home|/Users|/var/home|/export/home)/[^/\s:'\"]+"), "~"),
    (re.compile(r"(?<![\w./])/root(?=/)"), "~"),
    (re.compile(r"\b[A-Za-z]:\\+Users\\+[^\\\s:'\"]+"), "~"),
)
_NAME = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS)(_|$)|PASSWORD$|APIKEY$")
_SHORTEST = 6  # of a key: what is shorter stands in many a text by chance
_LONG = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}(?![A-Za-z0-9+/_=-])")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_WORDS = re.compile(r"[A-Za-z]{2,}")


def redact(text: str) -> str:
    """The text without what looks like a secret, an e-mail address or the name in a home folder."""
    text = without_keys(text)
    for pattern, instead in _PEOPLE:
        text = pattern.sub(instead, text)
    return _LONG.sub(lambda found: "[secret]" if _is_random(found[0]) else found[0], text)


def without_keys(text: str) -> str:
    """The text without keys and passwords only, for a setting or an address that is to be shown."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def key_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that hold a key or a password, by their name or by what they hold."""
    return tuple(name for name, value in environ.items() if value and (_is_telling(name) or _is_key(value)))


def struck(text: str, environ: Mapping[str, str]) -> str:
    """`redact`, and without what the variables that hold keys hold."""
    for name in key_variables(environ):
        if len(environ[name]) >= _SHORTEST:
            text = text.replace(environ[name], "[key]")
    return redact(text)


def _is_telling(name: str) -> bool:
    return _NAME.search(name) is not None


@lru_cache(maxsize=1024)
def _is_key(value: str) -> bool:
    return without_keys(value) != value or (
        "/" not in value and _LONG.fullmatch(value) is not None and _is_random(value)
    )


def redacted(value: Any) -> Any:
    """The same for every text in a JSON value, keys of objects included."""
    match value:
        case str():
            return redact(value)
        case dict():
            return {redacted(key): redacted(each) for key, each in value.items()}
        case list() | tuple():
            return [redacted(each) for each in value]
        case _:
            return value


def _is_random(word: str) -> bool:
    """Whether a long word has no more order than a drawn one."""
    if _HEX.fullmatch(word):
        return _bits(word.lower()) > 3.0
    mixed = any(c.isupper() for c in word) and any(c.islower() for c in word)
    digits = sum(c.isdigit() for c in word)
    if not mixed or digits < 2 or _bits(word) < 4.1:
        return False
    # Names of files, tests and classes are made of words, and words are long.
    longest = max((len(run) for run in _WORDS.findall(word)), default=0)
    return longest < 8 or digits >= len(word) // 8


def _bits(word: str) -> float:
    """Shannon entropy, in bits a character."""
    counts = Counter(word).values()
    return -sum(n / len(word) * log2(n / len(word)) for n in counts)
