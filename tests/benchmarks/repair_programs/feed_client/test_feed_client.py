import pytest
from feed_client import FeedClient
from feed_server import Entry, FeedServer

TITLES = ["Hello", "Release 1.0", "A walk", "Release 1.1", "Goodbye"]


@pytest.fixture
def server():
    entries = [Entry(number, title, read=number % 2 == 0) for number, title in enumerate(TITLES)]
    return FeedServer(entries, page_size=2)


@pytest.fixture
def client(server):
    return FeedClient(server)


def test_page(server):
    page = server.fetch(2)
    assert [entry.title for entry in page.entries] == ["A walk", "Release 1.1"]
    assert page.next_cursor == 4


def test_last_page(server):
    assert server.fetch(4).next_cursor is None


def test_negative_cursor(server):
    with pytest.raises(ValueError):
        server.fetch(-1)


def test_first(client):
    assert client.first().title == "Hello"


def test_first_of_nothing():
    assert FeedClient(FeedServer([])).first() is None


def test_all(client, server):
    assert [entry.title for entry in client.all()] == TITLES
    assert server.requests == 3


def test_find_stops_early(client, server):
    assert client.find("release").number == 1
    assert server.requests == 1


def test_find_nothing(client):
    assert client.find("zebra") is None


def test_unread(client):
    assert client.unread() == 2
