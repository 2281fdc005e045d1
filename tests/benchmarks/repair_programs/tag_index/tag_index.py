"""Notes and their tags, looked up both ways."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class TagIndex:
    _notes: dict[str, set[str]] = field(default_factory=dict)
    _tags: dict[str, list[str]] = field(default_factory=dict)

    def add(self, note: str, tags: Iterable[str]) -> None:
        """File a note under tags; tags given before stay."""
        known = self._notes.setdefault(note, set())
        for tag in tags:
            tag = tag.lower().lstrip("#")
            if tag and tag not in known:
                known.add(tag)
                self._tags.setdefault(tag, []).append(note)

    def remove(self, note: str) -> None:
        for tag in self._notes.pop(note):
            self._tags[tag].remove(note)
            if not self._tags[tag]:
                del self._tags[tag]

    def tags(self, note: str) -> list[str]:
        """The tags of a note by the alphabet."""
        return sorted(self._notes.get(note, ()))

    def notes(self, tag: str) -> list[str]:
        """The notes under a tag by the alphabet."""
        return list(self._tags.get(tag.lower(), []))

    def having_all(self, *tags: str) -> list[str]:
        """The notes that have every one of the tags, by the alphabet."""
        if not tags:
            return sorted(self._notes)
        first, *rest = tags
        return [note for note in self.notes(first) if all(tag.lower() in self._notes[note] for tag in rest)]

    def popular(self, least: int = 1) -> list[tuple[str, int]]:
        """Tags with at least that many notes, the most used first."""
        counts = [(tag, len(notes)) for tag, notes in self._tags.items() if len(notes) >= least]
        return sorted(counts, key=lambda pair: (-pair[1], pair[0]))
