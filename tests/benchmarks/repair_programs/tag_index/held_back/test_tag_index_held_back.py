from tag_index import TagIndex


def made(**notes):
    index = TagIndex()
    for note, tags in notes.items():
        index.add(note, tags.split())
    return index


def test_any_order_of_filing():
    assert made(c="x", a="x", b="x").notes("x") == ["a", "b", "c"]
    assert made(b="x", a="x").notes("x") == ["a", "b"]
    assert made(a="x", b="x").notes("x") == ["a", "b"]


def test_result_is_a_copy():
    index = made(b="x", a="x")
    index.notes("x").clear()
    assert index.notes("x") == ["a", "b"]


def test_filed_later():
    index = made(z="x", m="y")
    index.add("m", ["x"])
    assert index.notes("x") == ["m", "z"]
    assert index.tags("m") == ["x", "y"]


def test_having_all_is_sorted():
    index = made(q="x y", d="y x", k="x")
    assert index.having_all("x", "y") == ["d", "q"]
    assert index.having_all("y", "x") == ["d", "q"]
    assert index.having_all("x") == ["d", "k", "q"]
    assert index.having_all("none", "x") == []


def test_after_removal():
    index = made(c="x", b="x", a="x")
    index.remove("b")
    assert index.notes("x") == ["a", "c"]
