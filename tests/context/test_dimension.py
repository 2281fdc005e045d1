"""The dimension and the language of a task, by its words and files."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from acr_cli.context.dimension import dimension_of, language_of
from acr_cli.records import Dimension

D = Dimension

TASKS = [
    ("Write a function that reverses a linked list", D.CODE_GENERATION),
    ("Create a REST endpoint for users", D.CODE_GENERATION),
    ("Implement a stack with push and pop", D.CODE_GENERATION),
    ("", D.CODE_GENERATION),
    ("hello", D.CODE_GENERATION),
    ("Find the shortest path between two nodes in a graph", D.ALGORITHM),
    ("Write a dynamic programming solution to the knapsack problem", D.ALGORITHM),
    ("Longest common subsequence of two strings in O(n*m)", D.ALGORITHM),
    ("Implement binary search over a rotated array", D.ALGORITHM),
    ("Fix the crash when the file is empty", D.BUG_FIXING),
    ("The tests fail with a TypeError in parser.py", D.BUG_FIXING),
    ("Why does login raise an exception? Fix the bug", D.BUG_FIXING),
    ("The total is wrong for negative amounts", D.BUG_FIXING),
    ("Complete the function body", D.CODE_COMPLETION),
    ("Fill in the missing part of this class", D.CODE_COMPLETION),
    ("Finish this implementation", D.CODE_COMPLETION),
    ("Refactor the parser into smaller functions", D.CODE_REFACTORING),
    ("Rename getUser to fetch_user everywhere", D.CODE_REFACTORING),
    ("Simplify this nested conditional", D.CODE_REFACTORING),
    ("Clean up the imports", D.CODE_REFACTORING),
    ("Plot the monthly sales from a pandas DataFrame", D.DATA_SCIENCE),
    ("Train a classifier with scikit-learn on iris.csv", D.DATA_SCIENCE),
    ("Translate this Python script to Rust", D.MULTI_LANGUAGE),
    ("Write an HTTP client in Go", D.MULTI_LANGUAGE),
    ("Reverse a string in C++", D.MULTI_LANGUAGE),
    ("Explain what this decorator does", D.CODE_UNDERSTANDING),
    ("What does this regular expression match?", D.CODE_UNDERSTANDING),
    ("What will be the output of this program?", D.CODE_UNDERSTANDING),
    ("Write unit tests for the invoice module", D.TEST_GENERATION),
    ("Add test cases for empty input", D.TEST_GENERATION),
    ("Raise the coverage of utils.py", D.TEST_GENERATION),
]


@pytest.mark.parametrize(("task", "dimension"), TASKS)
def test_a_question_has_its_dimension(task: str, dimension: Dimension) -> None:
    assert dimension_of(task) is dimension
    assert dimension_of(task.upper()) is dimension


@pytest.mark.parametrize(
    ("files", "text", "language"),
    [
        (["a.py", "b.py", "c.js"], "", "python"),
        (["a.ts", "b.tsx", "README.md"], "", "typescript"),
        (["src/A.JAVA"], "", "java"),
        (["README.md", "Makefile"], "", ""),
        ([], "", ""),
        (["a.py"], "port it to Rust", "rust"),
        (["a.py"], "rewrite the loop in go", "go"),
        (["a.py"], "go through the list", "python"),
        (["a.py"], "make the swift path less rusty", "python"),
        (["a.py"], "remove the rust-coloured border", "python"),
        ([], "a Rust program that prints primes", "rust"),
        ([], "swift code", "swift"),
        ([], "a javascript function", "javascript"),
        ([], "C++ templates", "cpp"),
        ([], "a C# class", "csharp"),
        ([], "golang channels", "go"),
        ([], "a class", ""),
        (["a.py"], "pythonic names", "python"),
    ],
)
def test_a_language_is_named_or_that_of_most_files(files: Sequence[str], text: str, language: str) -> None:
    assert language_of(files, text) == language
