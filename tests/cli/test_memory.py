"""`acr memory`: what travels, what is embedded anew, and the page for a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import pytest

from acr_cli.cli.charts import bar, line
from acr_cli.memory.store import Memory
from tests.memory.outcomes import make_outcome

DIMENSIONS = ("bug_fixing", "algorithm", "agentic_programming")


@pytest.fixture
def filled(acr_home: Path) -> Iterator[Memory]:
    """Two hundred steps of two models, with words in them that a page must not obey."""
    memory, rng = Memory(acr_home), Random(1)
    outcomes = []
    for i in range(200):
        strong = rng.random() < 0.5
        outcomes.append(
            make_outcome(
                f"o{i:03}",
                time=1_767_312_000.0 + 3600 * i,
                candidate="openai/strong" if strong else "openai/weak",
                available=("openai/strong", "openai/weak"),
                propensity=0.5,
                dimension=rng.choice(DIMENSIONS),
                verdict="passed" if rng.random() < (0.8 if strong else 0.4) else "failed",
                cost_usd=0.2 if strong else 0.02,
                repository="here" if i % 2 else "there",
                text="<script>document.title='owned'</script> & <b>bold</b> \x1b[2J",
            )
        )
    memory.take_in(outcomes)
    yield memory
    memory.close()


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_memory_travels_in_a_file(acr, filled: Memory, tmp_path: Path, name: str) -> None:
    done = acr("memory", "export", tmp_path / name)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Wrote 200 outcomes.\n")
    there = {"ACR_HOME": str(tmp_path / "there")}
    done = acr("memory", "import", tmp_path / name, env=there)
    assert (done.returncode, done.stdout) == (0, "Took in 200 outcomes; 0 were known.\n")
    done = acr("memory", "import", tmp_path / name, env=there)
    assert done.stdout == "Took in 0 outcomes; 200 were known.\n"
    assert len(Memory(tmp_path / "there").list(999)) == 200


def test_lines_go_through_a_pipe_and_can_be_narrowed(acr, filled: Memory, tmp_path: Path) -> None:
    done = acr("memory", "export", "-", "--model", "openai/weak", "--repo", "here", "-q")
    lines = [json.loads(text) for text in done.stdout.splitlines()]
    assert {(each["candidate"], each["repository"]) for each in lines} == {("openai/weak", "here")}
    assert done.stderr == ""
    done = acr("memory", "import", "-", input=done.stdout, env={"ACR_HOME": str(tmp_path / "there")})
    assert done.stdout == f"Took in {len(lines)} outcomes; 0 were known.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_standard_output_is_said_in_a_sentence(filled: Memory, tmp_path: Path) -> None:
    command = [Path(sys.executable).parent / "acr", "memory", "export", "-"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "acr: The output cannot be written: no space left on device. [output]\n"


def test_lines_that_are_no_outcomes_are_told(acr, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\nno json\n")
    done = acr("memory", "import", tmp_path / "x.jsonl")
    assert done.returncode == 1
    assert "2 lines left out, the first of them line 1: it is no outcome." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "x.csv"), "no known format"),
        (("import", "none.jsonl"), "cannot be read: No such file"),
        (("import", "none"), "cannot be read: No such file"),
        (("export", "none/x.jsonl"), "cannot be written"),
        (("report", "-o", "none/x.html"), "cannot be written"),
        (("stats", "--dimension", "cooking"), "--dimension must be"),
        (("stats", "--since", "soon"), "--since must be a date"),
    ],
)
def test_a_wrong_argument_is_said_in_a_sentence(acr, arguments: tuple[str, ...], said: str) -> None:
    done = acr("memory", *arguments)
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (2, True, False)


# --- embedder and team ----------------------------------------------------------------------------


def test_reindexing_lets_the_set_embedder_take_over(acr, filled: Memory) -> None:
    done = acr("memory", "reindex")
    assert (done.returncode, done.stdout) == (0, "Embedded 200 outcomes with minilm.\n")
    assert {len(outcome.vector) for outcome in filled.outcomes()} == {384}
    assert filled.follows() == "minilm"
    assert acr("memory", "reindex").stdout == "Embedded 0 outcomes with minilm.\n"


def test_without_a_team_there_is_nothing_to_synchronise(acr) -> None:
    done = acr("memory", "sync")
    assert (done.returncode, "No team memory is set." in done.stderr) == (3, True)
    assert "acr config set memory.url" in done.stderr


def test_an_address_from_the_environment_is_refused(acr) -> None:
    done = acr("memory", "sync", env={"ACR_MEMORY_URL": "http://127.0.0.1:9"})
    assert (done.returncode, "counts in the config file only" in done.stderr) == (3, True)


def test_a_server_that_is_not_there_is_said_and_nothing_lost(acr, acr_home: Path, filled: Memory) -> None:
    (acr_home / "config.toml").write_text('[memory]\nurl = "http://127.0.0.1:9"\n')
    done = acr("memory", "sync")
    assert done.returncode == 1
    assert "did not take part" in done.stdout
    assert "200 of yours wait." in done.stdout


# --- statistics -----------------------------------------------------------------------------------


def test_statistics_have_charts_and_can_be_narrowed(acr, filled: Memory) -> None:
    text = acr("memory", "stats").stdout
    for said in (
        "success at first choice, over time",
        "against always the strongest",
        "saved about",
        "█",
        "●",
    ):
        assert said in text
    part = acr("memory", "stats", "--model", "openai/weak", "--repo", "here", "--since", "2026-01-04").stdout
    assert "openai/strong" not in part
    record = json.loads(acr("memory", "stats", "--json", "--dimension", "algorithm").stdout)
    assert list(record["dimensions"]) == ["algorithm"]
    assert set(record["saved_usd"]) >= {"estimate", "low", "high"}
    assert record["curve"][0].keys() >= {"start", "end", "steps", "first_success", "success", "cost_usd"}


def test_a_bar_is_as_long_as_its_share() -> None:
    assert [bar(share, 4) for share in (0.0, 0.5, 1.0, 2.0, None)] == ["", "██", "████", "████", ""]
    assert bar(0.5, 4, plain=True) == "##"


def test_a_line_rises_with_its_values() -> None:
    rows = line([0.0, 0.5, None, 1.0], top=1.0, labels=("0 %", "100 %"), height=3, step=3)
    assert [row.count("●") for row in rows] == [1, 1, 1, 0]
    assert rows[0].startswith("100 % │")
    assert rows[2].startswith("  0 % │ ●")
    assert "●" not in "".join(line([1.0], top=1.0, labels=("0", "1"), plain=True))


# --- the page -------------------------------------------------------------------------------------


class Outline(HTMLParser):
    """The tags of a page, and what is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def page(acr, filled: Memory, tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    done = acr("memory", "report", "-o", path)
    assert (done.returncode, done.stderr) == (0, f"Wrote {path}.\n")
    return path


def test_the_page_is_whole_and_loads_nothing(page: Path) -> None:
    text = page.read_text()
    outline = Outline()
    outline.feed(text.replace("<!doctype html>", ""))
    assert outline.open == []
    tags = [tag for tag, _ in outline.tags]
    assert not {"script", "link", "img", "iframe"} & set(tags)
    assert not [attrs for _, attrs in outline.tags if {"src", "href", "onclick"} & attrs.keys()]
    assert "url(" not in text
    assert "@import" not in text
    assert "\x1b" not in text
    assert "<b>bold" not in text
    assert tags.count("table") == tags.count("caption") >= 5
    assert all(attrs.get("aria-label") for tag, attrs in outline.tags if tag == "svg")
    for said in (
        "openai/strong",
        "How it has learnt",
        "always the strongest",
        "bug fixing",
        "prefers-color-scheme",
    ):
        assert said in text


def test_the_page_is_for_the_users_eyes_and_takes_any_text(acr, filled: Memory, tmp_path: Path) -> None:
    filled.remember(make_outcome("odd", text="lone \ud800 half", dimension="bug_fixing", verdict="passed"))
    done = acr("memory", "report", "-o", tmp_path / "odd.html")
    assert (done.returncode, done.stderr.splitlines()) == (0, [f"Wrote {tmp_path / 'odd.html'}."])
    assert (tmp_path / "odd.html").stat().st_mode & 0o777 == 0o600
    assert "half" in (tmp_path / "odd.html").read_text()


def test_the_page_of_an_empty_memory_is_one(acr, tmp_path: Path) -> None:
    assert acr("memory", "report", "-o", tmp_path / "x.html").returncode == 0
    outline = Outline()
    outline.feed((tmp_path / "x.html").read_text().replace("<!doctype html>", ""))
    assert outline.open == []


PROBE = """
<script>
const style = (e) => getComputedStyle(e);
const light = (color) => {
  const parts = color.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255);
  const [r, g, b] = parts.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [high, low] = [light(one), light(other)].sort((p, q) => q - p);
  return (high + 0.05) / (low + 0.05);
};
const back = style(document.body).backgroundColor;
const sizes = [...document.querySelectorAll('td, p, dd')].map((e) => parseFloat(style(e).fontSize));
const told = {
  title: document.title,
  overflow: document.documentElement.scrollWidth - window.innerWidth,
  requests: performance.getEntriesByType('resource').length,
  background: back,
  text: contrast(style(document.body).color, back),
  quiet: contrast(style(document.querySelector('.quiet')).color, back),
  smallest: Math.min(...sizes),
  charts: [...document.querySelectorAll('svg')].map((e) => e.getBoundingClientRect().width),
};
document.body.innerHTML = '<pre id=told>' + JSON.stringify(told) + '</pre>';
</script>
"""


def probed(page: Path, *flags: str) -> dict[str, object]:
    """What a real browser makes of the page, told by a script that the page's own policy would forbid."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium; install it with the system's packages")
    text = page.read_text()
    policy = text[text.index("<meta http-equiv") : text.index("<title>")]
    copy = page.with_name("probe.html")
    copy.write_text(text.replace(policy, "").replace("</body>", f"{PROBE}</body>"))
    command = [
        program,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={page.parent}/profile",
    ]
    done = subprocess.run(
        [*command, *flags, "--dump-dom", copy.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "HOME": str(page.parent)},
    )
    told = done.stdout.partition('<pre id="told">')[2].partition("</pre>")[0]
    return dict(json.loads(told.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")))


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_it_on_a_phone_and_a_desk_by_day_and_night(
    page: Path, width: int, dark: bool
) -> None:
    flags = ["--blink-settings=preferredColorScheme=0"] if dark else []
    told = probed(page, f"--window-size={width},900", *flags)
    assert told["title"] == "acr memory"  # no word of a task was obeyed
    assert told["requests"] == 0
    assert float(str(told["overflow"])) <= 0
    assert float(str(told["text"])) >= 7
    assert float(str(told["quiet"])) >= 4.5
    assert float(str(told["smallest"])) >= 12
    assert (told["background"] == "rgb(255, 255, 255)") is not dark
    assert told["charts"]
