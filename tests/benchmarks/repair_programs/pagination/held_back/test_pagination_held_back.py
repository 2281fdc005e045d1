import pytest
from pagination import Paginator


@pytest.mark.parametrize(
    ("length", "size", "pages"),
    [
        (0, 3, 1),
        (1, 3, 1),
        (2, 3, 1),
        (3, 3, 1),
        (4, 3, 2),
        (6, 3, 2),
        (7, 3, 3),
        (5, 1, 5),
        (100, 10, 10),
        (101, 10, 11),
    ],
)
def test_pages(length, size, pages):
    assert Paginator(range(length), size).pages == pages


def test_every_item_is_on_one_page():
    for length in range(1, 13):
        paginator = Paginator(list(range(length)), 4)
        shown = [item for number in range(1, paginator.pages + 1) for item in paginator.page(number).items]
        assert shown == list(range(length))
        assert all(paginator.page(number).items for number in range(1, paginator.pages + 1))


def test_beyond_a_full_last_page():
    with pytest.raises(IndexError, match="no page 3"):
        Paginator("abcd", 2).page(3)


def test_links_at_the_ends():
    assert Paginator(range(20), 2).links(1) == [1, 2, None, 10]
    assert Paginator(range(20), 2).links(10) == [1, None, 9, 10]
    assert Paginator(range(3), 3).links(1) == [1]
