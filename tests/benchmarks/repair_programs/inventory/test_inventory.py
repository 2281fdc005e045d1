import pytest
from orders import OrderBook, OutOfStock
from stock import Stock


@pytest.fixture
def stock():
    stock = Stock()
    stock.receive("bolt", 10, reorder_level=2)
    stock.receive("nut", 4)
    return stock


@pytest.fixture
def book(stock):
    return OrderBook(stock)


def test_unknown_article(book):
    with pytest.raises(KeyError, match="unknown article gear"):
        book.place({"gear": 1})


def test_order_reserves(stock, book):
    book.place({"bolt": 3})
    assert stock.item("bolt").available == 7
    assert stock.item("bolt").on_hand == 10


def test_more_than_there_is(book):
    with pytest.raises(OutOfStock, match="nut"):
        book.place({"bolt": 1, "nut": 5})


def test_reserved_pieces_cannot_be_sold_again(book):
    book.place({"nut": 3})
    with pytest.raises(OutOfStock):
        book.place({"nut": 2})


def test_shipping_takes_the_pieces(stock, book):
    order = book.place({"bolt": 3})
    book.ship(order.number)
    assert stock.item("bolt").on_hand == 7
    assert stock.item("bolt").reserved == 0


def test_cancelling_frees_the_pieces(stock, book):
    book.cancel(book.place({"nut": 4}).number)
    assert stock.item("nut").available == 4


def test_to_reorder(stock, book):
    book.place({"bolt": 8})
    assert stock.to_reorder() == ["bolt"]
