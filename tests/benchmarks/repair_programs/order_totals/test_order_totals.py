import pytest
from basket import Basket
from catalogue import Article, Catalogue


@pytest.fixture
def basket():
    return Basket(
        Catalogue(
            Article("pen", 150, "office"),
            Article("ink", 300, "office"),
            Article("mug", 900, "kitchen"),
            Article("cup", 900, "kitchen"),
        )
    )


def test_unknown_article(basket):
    with pytest.raises(KeyError, match="unknown article hat"):
        basket.add("hat")


def test_empty_basket(basket):
    assert basket.total() == 0


def test_goods(basket):
    basket.add("pen")
    basket.add("mug", 2)
    assert basket.goods() == 1950


def test_goods_of_one_price(basket):
    basket.add("mug")
    basket.add("cup")
    assert basket.goods() == 1800


def test_bulk_discount(basket):
    basket.add("pen", 10)
    assert basket.line_total("pen") == 1350


def test_shipping(basket):
    basket.add("ink")
    assert basket.total() == 790


def test_free_shipping(basket):
    basket.add("mug", 6)
    assert basket.shipping() == 0


def test_by_category(basket):
    basket.add("mug")
    basket.add("cup")
    basket.add("pen")
    assert basket.by_category() == {"kitchen": 1800, "office": 150}


def test_cheapest():
    catalogue = Catalogue(Article("b", 5), Article("a", 5), Article("c", 7))
    assert catalogue.cheapest("general").sku == "a"
    assert catalogue.cheapest("none") is None
