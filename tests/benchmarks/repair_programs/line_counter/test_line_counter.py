from line_counter import STYLES, Counts, count, count_all, suffix_of


def test_sum_of_counts():
    assert Counts(1, 2, 3) + Counts(4, 5, 6) == Counts(5, 7, 9)
    assert Counts(1, 2, 3).total == 6


def test_suffix():
    assert suffix_of("src/Main.C") == ".c"
    assert suffix_of("Makefile") == ""


def test_empty_text():
    assert count("", STYLES[".py"]) == Counts()


def test_only_code():
    assert count("a = 1\nb = 2  # two\n", STYLES[".py"]) == Counts(code=2)


def test_files_of_one_suffix_are_added():
    totals = count_all([("a.py", "x\ny"), ("b.PY", "z"), ("c.txt", "t")])
    assert totals == {".py": Counts(code=3)}


def test_comments_and_blanks():
    text = "# title\n\nx = 1\n"
    assert count(text, STYLES[".py"]) == Counts(code=1, comment=1, blank=1)


def test_block_comment():
    text = "/* one\n\n two */\nint x;\n"
    assert count(text, STYLES[".c"]) == Counts(code=1, comment=3)
