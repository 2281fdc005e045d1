import pytest
from pagination import Paginator


def test_pages_with_a_rest():
    assert Paginator("abcde", 2).pages == 3


def test_pages_without_a_rest():
    assert Paginator("abcdef", 2).pages == 3


def test_empty_list_has_one_page():
    paginator = Paginator([], 5)
    assert paginator.pages == 1
    assert paginator.page(1).items == []


def test_last_page_is_short():
    assert Paginator("abcde", 2).page(3).items == "e"


def test_next_and_previous():
    page = Paginator("abcde", 2).page(1)
    assert page.has_next
    assert not page.has_previous


def test_full_last_page_has_no_next():
    assert not Paginator("abcd", 2).page(2).has_next


def test_out_of_range():
    with pytest.raises(IndexError):
        Paginator("abc", 2).page(3)
    with pytest.raises(IndexError):
        Paginator("abc", 2).page(0)


def test_links():
    assert Paginator(range(19), 2).links(5) == [1, None, 4, 5, 6, None, 10]


def test_size_must_be_positive():
    with pytest.raises(ValueError):
        Paginator("abc", 0)
