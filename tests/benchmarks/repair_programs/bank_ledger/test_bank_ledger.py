import pytest
from accounts import Account, InsufficientFunds
from ledger import Ledger


@pytest.fixture
def ledger():
    ledger = Ledger()
    ledger.open("A")
    ledger.open("B", overdraft=50)
    ledger.deposit("A", 100)
    return ledger


def test_withdraw_more_than_there_is():
    with pytest.raises(InsufficientFunds, match="X holds 0, not 1"):
        Account("X").withdraw(1)


def test_amounts_are_positive(ledger):
    with pytest.raises(ValueError):
        ledger.deposit("A", 0)


def test_deposit(ledger):
    assert ledger.accounts["A"].balance == 100
    assert ledger.statement("A") == [("deposit", 100, 100)]


def test_transfer_moves_money(ledger):
    ledger.transfer("A", "B", 30)
    assert ledger.accounts["A"].balance == 70
    assert ledger.accounts["B"].balance == 30


def test_overdraft(ledger):
    ledger.transfer("B", "A", 50)
    assert ledger.accounts["B"].balance == -50


def test_statement_of_the_receiver(ledger):
    ledger.transfer("A", "B", 30, "rent")
    assert ledger.statement("B") == [("rent", 30, 30)]


def test_books_are_balanced(ledger):
    ledger.transfer("A", "B", 30)
    assert ledger.is_balanced()


def test_same_number_twice(ledger):
    with pytest.raises(ValueError, match="account A exists"):
        ledger.open("A")
