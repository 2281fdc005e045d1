"""A task that is an image, and not one in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from acr_cli.cli.inputs import read_task
from acr_cli.errors import UsageError


@pytest.mark.parametrize("head", [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\1\2\3\4WEBP"])
@pytest.mark.parametrize("flag", ["--issue", "--log"])
def test_an_image_is_refused_with_what_to_do(tmp_path: Path, head: bytes, flag: str) -> None:
    shot = tmp_path / "shot.txt"
    shot.write_bytes(head + bytes(50))
    issue, log = (str(shot), None) if flag == "--issue" else (None, str(shot))
    with pytest.raises(
        UsageError, match=f"{flag} .*shot.txt is an image, and models are sent text"
    ) as caught:
        read_task(None, issue, log, None)
    assert (caught.value.exit_code, caught.value.hint) == (2, "Say in words what it shows.")


def test_other_files_that_are_no_text_are_refused_and_utf_16_is_read(tmp_path: Path) -> None:
    file = tmp_path / "issue"
    file.write_bytes(b"\x7fELF\0\0")
    with pytest.raises(UsageError, match="is no text"):
        read_task(None, str(file), None, None)
    file.write_bytes("\ufeffMend it.".encode("utf-16-le"))
    assert read_task(None, str(file), None, None)[0].text == "Mend it."


def test_a_file_without_an_end_is_not_read_for_ever() -> None:
    with pytest.raises(UsageError) as caught:
        read_task(None, None, "/dev/zero", None)
    assert caught.value.message == "--log /dev/zero is longer than 256 MiB."
    assert (caught.value.exit_code, caught.value.hint) == (2, "Give its last part: tail -c 100M FILE.")
