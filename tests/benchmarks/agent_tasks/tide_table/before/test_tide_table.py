from tide_table import Day, highest, summarise

LINES = """2024-03-01 00:10 1.10
2024-03-01 06:20 4.35
2024-03-01 12:40 0.95

2024-03-02 01:05 4.80
2024-03-03 01:50 1.30
2024-03-03 07:55 4.60
""".splitlines()


def test_days():
    assert summarise(LINES) == [
        Day("2024-03-01", 0.95, 4.35, 3),
        Day("2024-03-02", 4.80, 4.80, 1),
        Day("2024-03-03", 1.30, 4.60, 2),
    ]


def test_highest():
    assert highest(summarise(LINES)).date == "2024-03-02"
    assert highest([]) is None
