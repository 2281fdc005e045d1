"""A prefix tree of words with counts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass
class Node:
    children: dict[str, "Node"] = field(default_factory=dict)
    count: int = 0


class Trie:
    def __init__(self, words: Iterable[str] = ()) -> None:
        self._root = Node()
        for word in words:
            self.add(word)

    def add(self, word: str) -> None:
        if not word:
            raise ValueError("the empty word cannot be stored")
        node = self._root
        for letter in word:
            node = node.children.setdefault(letter, Node())
        node.count += 1

    def _find(self, prefix: str) -> Node | None:
        node = self._root
        for letter in prefix:
            if letter not in node.children:
                return None
            node = node.children[letter]
        return node

    def count(self, word: str) -> int:
        node = self._find(word)
        return node.count if node else 0

    def remove(self, word: str) -> None:
        """Forget a word whatever its count, and every branch that no word needs any more."""
        if not self.count(word):
            raise KeyError(word)
        path = [self._root]
        for letter in word:
            path.append(path[-1].children[letter])
        path[-1].count = 0
        for parent, letter in zip(reversed(path[:-1]), reversed(word), strict=True):
            child = parent.children[letter]
            if child.count:
                break
            del parent.children[letter]

    def complete(self, prefix: str) -> list[str]:
        """All words that begin with the prefix, by the alphabet."""
        node = self._find(prefix)
        return list(self._words(node, prefix)) if node else []

    def _words(self, node: Node, prefix: str) -> Iterator[str]:
        if node.count:
            yield prefix
        for letter in sorted(node.children):
            yield from self._words(node.children[letter], prefix + letter)

    def size(self) -> int:
        """How many nodes the tree has, its root not counted."""
        open_nodes, number = [self._root], -1
        while open_nodes:
            number += 1
            open_nodes.extend(open_nodes.pop().children.values())
        return number
