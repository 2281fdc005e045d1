import pytest
from grade_book import GradeBook, letter, median


@pytest.fixture
def book():
    book = GradeBook()
    book.add("Ann", 95)
    book.add("Ann", 85, weight=3)
    book.add("Bob", 62)
    return book


def test_median():
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    assert median([]) == 0


def test_letters():
    assert [letter(points) for points in (100, 90, 89.9, 60, 3)] == ["A", "A", "B", "D", "F"]


def test_negative_points():
    with pytest.raises(ValueError):
        letter(-1)


def test_weighted_means(book):
    assert book.means() == {"Ann": 87.5, "Bob": 62}


def test_weight_must_be_positive(book):
    with pytest.raises(ValueError):
        book.add("Ann", 50, weight=0)


def test_report(book):
    assert book.report() == ["Ann: 87.5 B", "Bob: 62.0 D"]


def test_student_without_marks(book):
    book.enrol("Cem")
    assert book.report()[-1] == "Cem: 0.0 F"


def test_enrolling_again_keeps_the_marks(book):
    book.enrol("Bob")
    assert book.means()["Bob"] == 62


def test_class_median(book):
    assert book.class_median() == 74.75
