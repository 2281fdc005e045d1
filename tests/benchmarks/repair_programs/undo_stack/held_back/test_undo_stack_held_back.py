import pytest
from undo_stack import Document, NothingToUndo


def test_all_the_way_back_and_forth():
    document = Document()
    for position, letter in enumerate("xyz"):
        document.insert(position, letter)
    assert [document.undo() for _ in range(3)] == ["xy", "x", ""]
    assert document.text == ""
    assert [document.redo() for _ in range(3)] == ["x", "xy", "xyz"]
    assert document.undo() == "xy"
    assert document.text == "xy"


def test_undo_of_a_deletion():
    document = Document("hello")
    assert document.delete(1, 4) == "ell"
    assert document.undo() == "hello"
    assert document.redo() == "ho"


def test_empty_deletion_is_no_edit():
    document = Document("a")
    assert document.delete(1, 1) == ""
    with pytest.raises(NothingToUndo):
        document.undo()


def test_depth():
    document = Document(depth=2)
    for letter in "abc":
        document.insert(0, letter)
    assert document.undo() == "ba"
    assert document.undo() == "a"
    with pytest.raises(NothingToUndo):
        document.undo()


def test_group():
    document = Document("s")
    with document.group():
        document.insert(1, "t")
        document.delete(0, 1)
    assert document.undo() == "s"
    assert document.redo() == "t"
