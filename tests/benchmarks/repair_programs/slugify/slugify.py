"""Slugs: readable names for addresses and files."""

import re
import unicodedata
from collections.abc import Iterable

STOP_WORDS = frozenset({"a", "an", "and", "of", "or", "the", "to"})


def to_ascii(text: str) -> str:
    """Accents are dropped, letters that are not Latin disappear."""
    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    return decomposed.encode("ascii", "ignore").decode()


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.replace("'", ""))


def slugify(
    text: str,
    *,
    allow_unicode: bool = False,
    drop_stop_words: bool = False,
    max_length: int | None = None,
) -> str:
    """Lower-case words joined by dashes; a slug is cut only between words, or in its first one."""
    if allow_unicode:
        text = to_ascii(text)
    words = words_of(text.lower())
    if drop_stop_words:
        words = [word for word in words if word not in STOP_WORDS] or words
    slug = "-".join(words)
    if max_length is not None and len(slug) > max_length:
        cut = slug[: max_length + 1].rpartition("-")[0]
        slug = cut or slug[:max_length]
    return slug


def unique_slug(text: str, taken: Iterable[str]) -> str:
    """The slug, numbered from 2 when it is taken."""
    slug = slugify(text)
    used = set(taken)
    if slug not in used:
        return slug
    number = 2
    while f"{slug}-{number}" in used:
        number += 1
    return f"{slug}-{number}"
