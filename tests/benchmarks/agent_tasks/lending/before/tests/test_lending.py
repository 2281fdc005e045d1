import pytest

from lending.catalogue import Catalogue
from lending.library import LendingError, Library
from lending.report import report


@pytest.fixture
def library():
    made = Library({"Emma": 1, "Ulysses": 2})
    made.join("Ann")
    made.join("Bob")
    return made


def test_a_loan(library):
    assert library.borrow("Ann", "Emma", 1) == 22
    with pytest.raises(LendingError, match="no copy"):
        library.borrow("Bob", "Emma", 2)


def test_the_catalogue():
    catalogue = Catalogue()
    catalogue.place("Emma", "A1")
    assert (catalogue.find("emm"), catalogue.shelf("Emma")) == (["Emma"], "A1")


@pytest.mark.parametrize(("day", "fee"), [(22, 0), (25, 0), (26, 0.20), (30, 1.00), (400, 10.00)])
def test_a_late_return_costs(library, day, fee):
    library.borrow("Ann", "Emma", 1)
    assert library.give_back("Ann", "Emma", day) == pytest.approx(fee)
    assert library.readers["Ann"].owes == pytest.approx(fee)
    assert library.copies["Emma"] == 1


def test_who_owes_too_much_may_not_borrow(library):
    library.borrow("Ann", "Emma", 1)
    library.give_back("Ann", "Emma", 51)
    with pytest.raises(LendingError, match="Ann owes 5.20"):
        library.borrow("Ann", "Ulysses", 52)


def test_the_report_lists_debts(library):
    library.borrow("Ann", "Emma", 1)
    library.give_back("Ann", "Emma", 30)
    library.borrow("Bob", "Ulysses", 1)
    assert report(library, 30) == "Ann: owes 1.00\nBob: Ulysses"
