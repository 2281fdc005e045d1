import pytest
from orders import OrderBook, OutOfStock
from stock import Stock


def made(pieces):
    stock = Stock()
    for sku, number in pieces.items():
        stock.receive(sku, number)
    return stock, OrderBook(stock)


def test_exactly_the_rest():
    stock, book = made({"a": 5})
    book.place({"a": 2})
    book.place({"a": 3})
    assert stock.item("a").available == 0
    with pytest.raises(OutOfStock):
        book.place({"a": 1})


def test_all_short_articles_are_named():
    _, book = made({"a": 2, "b": 2, "c": 2})
    book.place({"a": 1, "c": 2})
    with pytest.raises(OutOfStock) as caught:
        book.place({"a": 2, "b": 2, "c": 1})
    assert str(caught.value) == "a, c"


def test_refused_order_reserves_nothing():
    stock, book = made({"a": 3, "b": 1})
    book.place({"b": 1})
    with pytest.raises(OutOfStock):
        book.place({"a": 3, "b": 1})
    assert stock.item("a").reserved == 0
    assert stock.item("b").reserved == 1


def test_available_again():
    _, book = made({"a": 3})
    first = book.place({"a": 3})
    book.cancel(first.number)
    assert book.place({"a": 3}).number == 2


def test_shipped_is_gone():
    stock, book = made({"a": 3})
    book.ship(book.place({"a": 2}).number)
    with pytest.raises(OutOfStock):
        book.place({"a": 2})
    stock.receive("a", 1)
    assert book.place({"a": 2}).lines == {"a": 2}
    with pytest.raises(KeyError):
        book.ship(99)
