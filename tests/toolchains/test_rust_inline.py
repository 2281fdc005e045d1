"""Tests that stand beside the code: edits of them are undone, edits of the code are not."""

from __future__ import annotations

from acr_cli.toolchains.rust_inline import restored

CODE = b"pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
FIXED = CODE.replace(b"a - b", b"a + b")
TESTS = (
    b"\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n"
    b"        assert_eq!(add(1, 2), 3);\n    }\n}\n"
)
WEAK = TESTS.replace(b"3", b"-1")


def test_a_weakened_test_is_brought_back_and_the_fix_stays() -> None:
    assert restored(CODE + TESTS, FIXED + WEAK, new_tests=False) == FIXED + TESTS


def test_what_touches_no_test_is_left_alone() -> None:
    assert restored(CODE + TESTS, FIXED + TESTS, new_tests=False) == FIXED + TESTS
    assert restored(CODE, FIXED, new_tests=False) == FIXED


def test_deleted_tests_come_back() -> None:
    back = restored(CODE + TESTS, FIXED, new_tests=False)
    assert back.startswith(FIXED)
    assert TESTS.strip() in back


def test_new_tests_stay_only_where_they_are_what_the_step_is_for() -> None:
    assert restored(CODE, FIXED + TESTS, new_tests=True) == FIXED + TESTS
    assert restored(CODE, FIXED + TESTS, new_tests=False).strip() == FIXED.strip()


def test_code_that_exists_in_tests_only_is_no_way_round() -> None:
    cheat = b"#[cfg(test)]\npub fn add(_: i32, _: i32) -> i32 {\n    3\n}\n#[cfg(not(test))]\n" + CODE
    assert b"    3\n" not in restored(CODE + TESTS, cheat + TESTS, new_tests=False)


def test_a_test_inside_a_module_of_the_code() -> None:
    inside = b"mod inner {\n    #[test]\n    fn one() { assert!(f()); }\n    fn f() -> bool { %s }\n}\n"
    before, after = inside % b"false", (inside % b"true").replace(b"assert!(f())", b"assert!(true)")
    assert restored(before, after, new_tests=False) == inside % b"true"


def test_a_source_that_does_not_parse_is_left_to_the_check_of_syntax() -> None:
    assert restored(CODE + TESTS, b"fn {", new_tests=False) == b"fn {"
