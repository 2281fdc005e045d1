import pytest
from basket import Basket
from catalogue import Article, Catalogue

CATALOGUE = Catalogue(
    Article("a", 100), Article("b", 200), Article("c", 100), Article("d", 2500), Article("e", 2500)
)


def filled(**pieces):
    basket = Basket(CATALOGUE)
    for sku, number in pieces.items():
        basket.add(sku, number)
    return basket


@pytest.mark.parametrize(
    ("pieces", "goods"),
    [
        ({}, 0),
        ({"a": 1}, 100),
        ({"a": 2, "b": 1}, 400),
        ({"a": 1, "c": 1}, 200),
        ({"a": 2, "b": 1, "c": 2}, 600),
        ({"a": 10, "c": 9}, 1800),
        ({"a": 1, "b": 2, "c": 3}, 800),
        ({"d": 1, "e": 1}, 5000),
    ],
)
def test_goods(pieces, goods):
    assert filled(**pieces).goods() == goods


def test_shipping_at_the_limit():
    assert filled(d=1, e=1).total() == 5000
    assert filled(d=1).total() == 2990


def test_adding_twice():
    basket = filled(a=1)
    basket.add("a", 2)
    assert basket.goods() == 300
    with pytest.raises(ValueError):
        basket.add("a", 0)


def test_goods_is_a_number():
    assert isinstance(filled(a=1, c=1).goods(), int)
    assert sum(filled(a=1, c=1, b=1).by_category().values()) == 400
