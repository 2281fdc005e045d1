"""What a repository's own Dockerfile may take, and from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from acr_cli.errors import UsageError
from acr_cli.protocols import Recipe
from acr_cli.sandbox.dockerfile import fetched, first_image
from tests.sandbox.conftest import IMAGE, Opener

THERE = "http://127.0.0.1:8000/x"
# An engine has been seen to fetch the address for each of these but the last four, which it refuses, or which
# another engine may read so.
ADDRESSES = (
    *(f"ADD {THERE} /x", f"add\t{THERE} /x", f"  Add --chown=1 {THERE} /x", f"ADD a.txt {THERE} /x"),
    *(f"ADD \\\n# a comment\n{THERE} /x", f"ADD \\\n  # a comment\n\n{THERE} /x", f"ADD \\\r\n{THERE} /x"),
    *("ARG U=tp://127.0.0.1:8000/x\nADD ht$U /x", r"ADD http:\/\/127.0.0.1:8000/x /x"),
    *('ADD http:"//"127.0.0.1:8000/x /x', "ADD http:'//'127.0.0.1:8000/x /x"),
    *(r'ADD ["http:\/\/127.0.0.1:8000/x", "/x"]', r'ADD ["http\u003a//127.0.0.1:8000/x", "/x"]'),
    *(f"ADD\x0b{THERE} /x", f"ADD\x0c{THERE} /x", f"ADD\r{THERE} /x", f"\u00a0ADD {THERE} /x"),
    *(f"A\\\nDD {THERE} /x", f"A\\\n#c\nDD {THERE} /x", f"A\\\n  #c\nDD {THERE} /x"),
    *(f"LABEL a=b \\\x0c\nADD {THERE} /x", f"# escape=`\nFROM x\nADD `\n{THERE} /x"),
    *(f"ONBUILD ADD {THERE} /x", f"ONBUILD A\\\nDD {THERE} /x", "ADD git@example.org:a/b.git /x"),
    *(f"LABEL a=b \\\\\nADD {THERE} /x", f"RUN <<'E\\'\ntrue\nE\\\nADD {THERE} /x"),
)
FILES = (
    *("ADD . /app", "ADD --chown=app:app a.tar.gz b /x/", 'ADD ["a", "b c", "/x"]', "ONBUILD ADD . /app"),
    *("ADD \\\n  a.txt \\\n# the second\n  b.txt \\\n  /x", "COPY --from=x https://x /y", "ENV ADD=http://x"),
    *(f"RUN apk \\\n  add curl && \\\n  curl {THERE}", f"RUN git add . && wget '{THERE}'", "RUN d=`date`"),
    *("RUN a \\\n\\\n && b", "# ADD http://x /y", "RUN cat <<EOF\na\\b\nEOF", "RUN test $((1<<4)) = 16"),
)


@pytest.mark.parametrize("text", ADDRESSES)
def test_what_may_have_the_engine_fetch_an_address_is_found(text: str) -> None:
    assert fetched(f"FROM image\n{text}\n")


@pytest.mark.parametrize("text", FILES)
def test_what_takes_files_of_the_repository_or_runs_commands_is_not(text: str) -> None:
    assert fetched(f"FROM image\n{text}\n") == ""


def test_the_first_image_that_is_named_is_found() -> None:
    text = "ARG V=1\nFROM scratch\nFROM image:$V\nFROM --platform=linux/amd64 \\\n  real:2 AS x\nFROM y"
    assert first_image(text) == "real:2"
    assert first_image("FROM $ALL") == ""


@pytest.mark.docker
def test_no_folder_and_no_dockerfile_is_taken_from_behind_a_link(opener: Opener, tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / ".devcontainer").mkdir(parents=True)
    outside.mkdir()
    (outside / "key").write_text("of the user")
    (outside / "Dockerfile").write_text(f"FROM {IMAGE}\n")
    (project / ".devcontainer" / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY key /key\n")
    (project / "out").symlink_to(outside)
    recipe = Recipe(language="python", repository=str(project))
    for build in (
        '{"dockerfile": "Dockerfile", "context": "../out"}',
        '{"dockerfile": "../out/Dockerfile"}',
        '{"dockerfile": "../none"}',
    ):
        (project / ".devcontainer" / "devcontainer.json").write_text(f'{{"build": {build}}}')
        with pytest.raises(UsageError, match=r"is not in this repository, or leads out of it\.") as caught:
            opener("docker", image="devcontainer").sandbox.prepare(recipe, project)
        assert "--image" in caught.value.hint
