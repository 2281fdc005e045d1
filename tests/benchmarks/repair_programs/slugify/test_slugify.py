from slugify import slugify, to_ascii, unique_slug, words_of


def test_words():
    assert words_of("it's snake_case") == ["its", "snake", "case"]


def test_to_ascii():
    assert to_ascii("Größe") == "Grosse"


def test_plain():
    assert slugify("  Hello, World! ") == "hello-world"


def test_accents():
    assert slugify("Crème brûlée") == "creme-brulee"


def test_unicode_is_kept():
    assert slugify("Καλημέρα κόσμε", allow_unicode=True) == "καλημέρα-κόσμε"


def test_stop_words():
    assert slugify("The Art of War", drop_stop_words=True) == "art-war"


def test_only_stop_words():
    assert slugify("To the", drop_stop_words=True) == "to-the"


def test_cut_between_words():
    assert slugify("one two three", max_length=9) == "one-two"


def test_unique():
    assert unique_slug("My Post", ["my-post", "my-post-2"]) == "my-post-3"
