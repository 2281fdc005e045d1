import pytest
from feed_client import FeedClient
from feed_server import Entry, FeedServer


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8])
def test_unread_for_any_page_size(size):
    entries = [Entry(number, str(number), read=number in (2, 5)) for number in range(7)]
    server = FeedServer(entries, size)
    assert FeedClient(server).unread() == 5
    assert server.requests == -(-7 // size)


def test_no_entries():
    server = FeedServer([])
    assert FeedClient(server).unread() == 0
    assert server.requests == 1


def test_all_read():
    assert FeedClient(FeedServer([Entry(n, "x", read=True) for n in range(5)], 2)).unread() == 0


def test_unread_on_the_last_page_only():
    entries = [Entry(n, "x", read=n < 4) for n in range(6)]
    assert FeedClient(FeedServer(entries, 2)).unread() == 2
    assert FeedClient(FeedServer(entries, 4)).unread() == 2


def test_the_rest():
    client = FeedClient(FeedServer([Entry(n, f"t{n}") for n in range(5)], 2))
    assert client.find("T4") == Entry(4, "t4")
    assert len(client.all()) == 5
    assert client.unread() == 5
