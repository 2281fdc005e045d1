import pytest
from line_counter import STYLES, Counts, count, count_all


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("\n", Counts(blank=1)),
        ("\n\n\n", Counts(blank=3)),
        ("#", Counts(comment=1)),
        ("x\n\n", Counts(code=1, blank=1)),
        ("x\n#y\nz", Counts(code=2, comment=1)),
        ("#a\n#b\n", Counts(comment=2)),
        ("   \n\t# x\n", Counts(comment=1, blank=1)),
    ],
)
def test_python(text, counts):
    assert count(text, STYLES[".py"]) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("/* a */\nx;", Counts(code=1, comment=1)),
        ("/* a\nx;", Counts(comment=2)),
        ("// a\n\n/*\n\n*/\nx; /* b */\ny;", Counts(code=2, comment=4, blank=1)),
        ("/*/\n*/\nx", Counts(code=1, comment=2)),
    ],
)
def test_c(text, counts):
    assert count(text, STYLES[".c"]) == counts


def test_every_line_is_counted():
    text = "-- x\nselect 1;\n\n/* y\nz */\n"
    assert count(text, STYLES[".sql"]).total == 5
    assert count_all([("a.sql", text), ("a.sh", "#!x\n\n")]) == {
        ".sql": Counts(1, 3, 1),
        ".sh": Counts(0, 1, 1),
    }
