"""Headers of HTTP messages: names without regard to case, several values a name."""

from collections.abc import Iterator, MutableMapping


class Headers(MutableMapping[str, str]):
    def __init__(self, pairs: dict[str, str] | None = None) -> None:
        self._values: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        for name, value in (pairs or {}).items():
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """One more value under this name."""
        key = name.lower()
        self._names.setdefault(key, name)
        self._values.setdefault(key, []).append(value.strip())

    def get_all(self, name: str) -> list[str]:
        return list(self._values.get(name, []))

    def __getitem__(self, name: str) -> str:
        """All values of the name, joined by commas."""
        key = name.lower()
        if key not in self._values:
            raise KeyError(name)
        return ", ".join(self._values[key])

    def __setitem__(self, name: str, value: str) -> None:
        key = name.lower()
        self._names[key] = name
        self._values[key] = [value.strip()]

    def __delitem__(self, name: str) -> None:
        key = name.lower()
        if key not in self._values:
            raise KeyError(name)
        del self._values[key]
        del self._names[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names.values())

    def __len__(self) -> int:
        return len(self._names)

    def to_text(self) -> str:
        lines = [f"{self._names[key]}: {value}" for key, values in self._values.items() for value in values]
        return "".join(line + "\r\n" for line in lines)


def parse_headers(text: str) -> Headers:
    headers = Headers()
    for line in text.splitlines():
        if not line:
            break
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"not a header: {line!r}")
        headers.add(name, value)
    return headers
