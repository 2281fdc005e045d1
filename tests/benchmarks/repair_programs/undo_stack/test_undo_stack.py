import unittest

from undo_stack import Document, NothingToUndo


class DocumentTest(unittest.TestCase):
    def setUp(self):
        self.document = Document("abc")

    def test_insert(self):
        self.document.insert(1, "--")
        self.assertEqual(self.document.text, "a--bc")

    def test_insert_out_of_range(self):
        with self.assertRaises(IndexError):
            self.document.insert(4, "x")

    def test_delete_returns_the_part(self):
        self.assertEqual(self.document.delete(0, 2), "ab")

    def test_undo_restores_the_text(self):
        self.document.insert(3, "d")
        self.document.undo()
        self.assertEqual(self.document.text, "abc")

    def test_undo_returns_the_text(self):
        self.document.insert(3, "d")
        self.document.insert(4, "e")
        self.assertEqual(self.document.undo(), "abcd")

    def test_redo(self):
        self.document.insert(3, "d")
        self.document.undo()
        self.assertEqual(self.document.redo(), "abcd")

    def test_edit_forgets_redo(self):
        self.document.insert(3, "d")
        self.document.undo()
        self.document.insert(0, "x")
        with self.assertRaises(NothingToUndo):
            self.document.redo()

    def test_nothing_to_undo(self):
        with self.assertRaises(NothingToUndo):
            self.document.undo()

    def test_group_is_one_edit(self):
        with self.document.group():
            self.document.insert(0, "1")
            self.document.insert(0, "2")
        self.document.undo()
        self.assertEqual(self.document.text, "abc")
