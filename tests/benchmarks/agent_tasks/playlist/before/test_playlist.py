import pytest

from playlist import Playlist


@pytest.fixture
def songs():
    playlist = Playlist("abcde")
    playlist.next()
    playlist.next()
    return playlist


def test_next_goes_round(songs):
    assert [songs.next() for _ in range(4)] == ["d", "e", "a", "b"]


def test_remove_before(songs):
    songs.remove(0)
    assert songs.playing == "c"


@pytest.mark.parametrize(
    ("source", "target", "order"),
    [(0, 4, "bcdea"), (4, 0, "eabcd"), (2, 0, "cabde"), (2, 4, "abdec"), (0, 1, "bacde"), (3, 4, "abced"), (1, 1, "abcde")],
)
def test_move_keeps_what_plays(songs, source, target, order):
    songs.move(source, target)
    assert "".join(songs.songs) == order
    assert songs.playing == "c"
