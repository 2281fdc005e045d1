"""A playlist with a song that is playing."""


class Playlist:
    def __init__(self, songs=()):
        self.songs = list(songs)
        self.position = 0

    @property
    def playing(self):
        """The song that is playing; None in an empty list."""
        return self.songs[self.position] if self.songs else None

    def next(self):
        """Go on to the next song, from the last one to the first."""
        if self.songs:
            self.position = (self.position + 1) % len(self.songs)
        return self.playing

    def add(self, song):
        self.songs.append(song)

    def remove(self, index):
        """Remove a song; the one behind it plays if it was playing."""
        del self.songs[index]
        if index < self.position or self.position == len(self.songs):
            self.position = max(0, self.position - 1)

    def move(self, source, target):
        """Move the song at `source` so that it stands at `target`."""
        song = self.songs.pop(source)
        self.songs.insert(target, song)
        if source == self.position:
            self.position = target
        elif source < self.position <= target:
            self.position -= 1
        elif target <= self.position < source:
            self.position += 1
