import pytest
from slugify import slugify, unique_slug


@pytest.mark.parametrize(
    ("text", "plain", "rich"),
    [
        ("Über uns", "uber-uns", "über-uns"),
        ("Straße 5", "strasse-5", "straße-5"),
        ("naïve café", "naive-cafe", "naïve-café"),
        ("abc", "abc", "abc"),
        ("日本 now", "now", "日本-now"),
        ("", "", ""),
    ],
)
def test_both_alphabets(text, plain, rich):
    assert slugify(text) == plain
    assert slugify(text, allow_unicode=False) == plain
    assert slugify(text, allow_unicode=True) == rich


def test_cut_in_the_first_word():
    assert slugify("extraordinary", max_length=5) == "extra"


def test_exact_length_is_not_cut():
    assert slugify("one two", max_length=7) == "one-two"
    assert slugify("one two x", max_length=7) == "one-two"


def test_unique_with_accents():
    assert unique_slug("Café", ["cafe"]) == "cafe-2"
    assert unique_slug("Café", []) == "cafe"
