import pytest
from accounts import InsufficientFunds
from ledger import Entry, Ledger


def made():
    ledger = Ledger()
    for number in "ABC":
        ledger.open(number)
    ledger.deposit("A", 500)
    return ledger


def test_statement_agrees_with_balance():
    ledger = made()
    ledger.transfer("A", "B", 200)
    ledger.transfer("B", "C", 150)
    ledger.transfer("C", "A", 20)
    for number, account in ledger.accounts.items():
        assert ledger.statement(number)[-1][2] == account.balance
    assert ledger.is_balanced()


def test_source_statement():
    ledger = made()
    ledger.transfer("A", "B", 200, "gift")
    assert ledger.statement("A") == [("deposit", 500, 500), ("gift", -200, 300)]
    assert ledger.statement("C") == []


def test_entries():
    ledger = made()
    ledger.transfer("A", "C", 5)
    assert ledger.entries[-2:] == [Entry("A", -5, "transfer"), Entry("C", 5, "transfer")]


def test_failed_transfer_books_nothing():
    ledger = made()
    with pytest.raises(InsufficientFunds):
        ledger.transfer("B", "A", 1)
    with pytest.raises(KeyError):
        ledger.transfer("A", "Z", 1)
    assert len(ledger.entries) == 2
    assert ledger.accounts["A"].balance == 500


def test_cash():
    assert made().statement("cash") == [("deposit to A", -500, -500)]
