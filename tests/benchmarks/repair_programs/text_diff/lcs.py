"""Longest common subsequences."""

from collections.abc import Sequence
from typing import Any


def lcs_table(left: Sequence[Any], right: Sequence[Any]) -> list[list[int]]:
    """`table[i][j]`: the length of the longest common subsequence of left[i:] and right[j:]."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            if left[i] == right[j]:
                table[i][j] = table[i + 1][j + 1] + 1
            else:
                table[i][j] = max(table[i + 1][j], table[i][j + 1])
    return table


def lcs_length(left: Sequence[Any], right: Sequence[Any]) -> int:
    return lcs_table(left, right)[0][0]
