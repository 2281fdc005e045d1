"""Titles and where they stand."""


class Catalogue:
    def __init__(self):
        self._shelves = {}

    def place(self, title, shelf):
        self._shelves[title] = shelf

    def shelf(self, title):
        """Where a title stands; None for an unknown one."""
        return self._shelves.get(title)

    def find(self, words):
        """Titles that have all of the words in them, in any case."""
        wanted = words.lower().split()
        return sorted(t for t in self._shelves if all(word in t.lower() for word in wanted))
