import pytest
from grade_book import GradeBook, Mark, weighted_mean


def test_no_marks():
    assert weighted_mean([]) == 0
    assert weighted_mean(()) == 0


def test_one_mark():
    assert weighted_mean([Mark(70)]) == 70
    assert weighted_mean([Mark(70, 0.5)]) == 70


def test_zero_points_count():
    assert weighted_mean([Mark(0), Mark(100)]) == 50
    assert weighted_mean([Mark(0), Mark(0)]) == 0


def test_weights():
    assert weighted_mean([Mark(100, 1), Mark(0, 3)]) == 25
    assert weighted_mean([Mark(50, 0.25), Mark(90, 0.75)]) == pytest.approx(80)


def test_only_empty_students():
    book = GradeBook()
    assert book.report() == []
    assert book.class_median() == 0
    book.enrol("b")
    book.enrol("a")
    assert book.report() == ["a: 0.0 F", "b: 0.0 F"]
    assert book.means() == {"a": 0, "b": 0}


def test_median_counts_empty_students():
    book = GradeBook()
    book.enrol("a")
    book.add("b", 80)
    assert book.class_median() == 40
