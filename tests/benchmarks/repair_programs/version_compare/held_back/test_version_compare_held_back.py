import pytest
from requirement import accepts, newest
from versions import Version


@pytest.mark.parametrize(
    ("requirement", "version", "expected"),
    [
        ("~=2.2", "2.2", True),
        ("~=2.2", "2.9.1", True),
        ("~=2.2", "3.0", False),
        ("~=2.2", "3", False),
        ("~=2.2", "2.1", False),
        ("~=1.4.2", "1.4.2", True),
        ("~=1.4.2", "1.5.1", False),
        ("~=1.4.2", "1.5rc1", True),
        ("~=1.4.2", "1.4.100", True),
        ("!=1.5,>1", "1.5.0", False),
        ("<=1.5", "1.5", True),
        ("1.5", "1.5.0", True),
        (">1.5", "1.5", False),
    ],
)
def test_accepts(requirement, version, expected):
    assert accepts(requirement, version) is expected


def test_newest_compatible():
    assert newest("~=1.4.2", ["1.4.2", "1.4.7", "1.5", "1.6"]) == "1.4.7"


def test_equal_versions_are_one():
    assert len({Version.parse("1.0"), Version.parse("1.0.0")}) == 1
