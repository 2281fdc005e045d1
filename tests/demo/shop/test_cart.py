import pytest
from cart import Cart


def test_an_empty_cart_costs_nothing():
    assert Cart().total_cents() == 0


def test_a_small_order_pays_shipping():
    cart = Cart()
    cart.add("mug", 1200)
    assert cart.total_cents() == 1690


def test_shipping_is_free_from_fifty_on():
    cart = Cart()
    cart.add("lamp", 5000)
    assert cart.total_cents() == 5000


def test_nine_of_a_kind_have_no_discount():
    cart = Cart()
    cart.add("plate", 1000, quantity=9)
    assert cart.subtotal_cents() == 9000


def test_ten_of_a_kind_have_fifteen_percent_off():
    cart = Cart()
    cart.add("plate", 1000, quantity=10)
    assert cart.subtotal_cents() == 8500


def test_twelve_of_a_kind_have_fifteen_percent_off():
    cart = Cart()
    cart.add("plate", 1000, quantity=12)
    assert cart.subtotal_cents() == 10200


def test_no_line_without_a_quantity():
    with pytest.raises(ValueError, match="at least one"):
        Cart().add("mug", 1200, quantity=0)
