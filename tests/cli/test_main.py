"""The built program: what it imports, how it fails, what it reads, and where it writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from acr_cli import __version__
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.main import guarded

PROGRAM = Path(sys.executable).parent / "acr"
SLOW = ("litellm", "chromadb", "sentence_transformers", "torch", "docker", "git", "onnxruntime", "tokenizers")
COMMANDS = ("fix", "apply", "undo", "route", "memory", "models", "runs", "config", "doctor", "completion")


def modules(home: Path, *arguments: str) -> set[str]:
    """What a command line has imported when it ends."""
    code = f"""
import sys
from acr_cli.cli.main import main
try:
    main({list(arguments)!r})
finally:
    sys.stderr.write("\\nMODULES " + " ".join(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=False, cwd=home.parent, timeout=60
    )
    return set(done.stderr.rsplit("MODULES ", maxsplit=1)[1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["-h"],
        ["fix", "-h"],
        ["memory", "list", "--help"],
        ["completion", "bash"],
        ["completion", "--values", "models"],
        ["completion", "--values", "runs"],
        ["config", "show"],
        ["config", "path"],
        ["fix", "--max-cost", "much"],
        ["fix", "--no-such-option"],
        ["no-such-command"],
        ["runs", "list"],
        [],
    ],
    ids=" ".join,
)
def test_nothing_slow_is_imported(acr_home: Path, arguments: list[str]) -> None:
    assert not modules(acr_home, *arguments) & set(SLOW)


def test_the_version_costs_no_more_than_python(acr_home: Path) -> None:
    assert not modules(acr_home, "--version") & {"typer", "rich", "tomllib"}


@pytest.mark.parametrize("arguments", [["-h"], ["fix", "--help"], ["completion", "fish"]], ids=" ".join)
def test_help_and_completion_cost_no_more_than_typer(acr_home: Path, arguments: list[str]) -> None:
    assert "rich" not in modules(acr_home, *arguments)


def test_version(acr) -> None:
    for arguments in (["--version"], ["-q", "--version"]):
        done = acr(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"acr {__version__}\n", "")


def test_python_m_is_the_same_program(acr_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acr_cli", "-q", "--version"],
        text=True,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == f"acr {__version__}\n"


def test_help_lists_every_command(acr) -> None:
    done = acr("-h")
    assert (done.returncode, done.stderr) == (0, "")
    for command in COMMANDS:
        assert f"  {command} " in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_dash_h_works_everywhere(acr, command: str) -> None:
    done = acr(command, "-h")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: acr {command}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fxi"], "Did you mean 'fix'?"),
        (["memory", "stast"], "Did you mean 'stats'"),
        (["fix", "--dryrun"], "did you mean '--dry-run'?"),
        (["fix", "--dry"], "There is no option --dry; did you mean '--dry-run'?"),
        (["fix", "--bogus"], "There is no option --bogus."),
        (["fix", "--max-cost", "much"], "--max-cost must be an amount of USD"),
        (["fix", "--max-cost", "-1"], "--max-cost must be an amount of USD"),
        (["fix", "--max-time", "soon"], "like 90, 90s, 15m or 1h"),
        (["fix", "--attempts", "0"], "--attempts must be a whole number"),
        (["fix", "--sandbox", "chroot"], "--sandbox must be auto, docker, bubblewrap or none"),
        (["fix", "--policy", "luck"], "--policy must be"),
        (["fix", "--dry-run", "--commit"], "--commit has nothing to commit"),
        (["fix", "", "--json"], "The task is empty"),
        (["fix", "a", "--issue", "b"], "TASK and --issue"),
        (["fix", "--issue", "-", "--log", "-"], "only once"),
        (["fix", "--issue", "nowhere.txt"], "nowhere.txt: No such file"),
        (["fix", "--log", "."], "Is a directory"),
        (["fix", "-o", "nowhere/x.patch"], "no file can be written there"),
        (["-C", "nowhere", "fix"], "-C nowhere: No such file"),
        (["fix", "one", "two"], "unexpected extra argument"),
        (["route"], "Missing argument"),
        (["apply"], "has kept a patch back"),
        (["config", "set", "max_csot", "1"], "did you mean 'max_cost'?"),
        (["config", "set", "max_cost", "much"], "acr: max_cost must be"),
        (["memory", "forget"], "What is to be forgotten?"),
        (["memory", "forget", "x"], "There is no outcome 'x'"),
        (["config", "set", "max_cost_day", "-5"], "no option -5; a value that begins with - follows --."),
        (["config", "set", "max_cost_day", "--", "-5"], "max_cost_day must be an amount of USD"),
        (["memory", "show", "x"], "There is no outcome 'x'"),
        (["memory", "list", "-n", "0"], "-n must be a whole number"),
        (["runs", "show", "x"], "'x' is not a run"),
        (["models", "remove", "x"], "x is not in"),
        (["models", "add", "a/b", "--price", "1"], "--price must be two amounts"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_sentence_and_exit_2(acr, git_repo, arguments: list[str], words: str) -> None:
    done = acr(*arguments, cwd=git_repo({"a.py": "x = 1\n"}))
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    if "--json" not in arguments:
        assert done.stdout == ""


def test_a_wrong_configuration_is_exit_3_and_named(acr, acr_home: Path) -> None:
    acr_home.mkdir()
    (acr_home / "config.toml").write_text("\nmax_csot = 1\n")
    done = acr("config", "show")
    assert done.returncode == 3
    assert (
        f"{acr_home / 'config.toml'}, line 2: unknown key 'max_csot'; did you mean 'max_cost'?" in done.stderr
    )


def test_a_command_without_anything_shows_its_help(acr) -> None:
    for arguments in ([], ["memory"], ["config"]):
        done = acr(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("Usage: acr")


def test_outside_a_repository_fix_is_refused_in_words_and_in_json(acr, tmp_path: Path) -> None:
    done = acr("fix", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (9, "")
    assert "Traceback" not in done.stderr
    done = acr("fix", "--json", cwd=tmp_path)
    assert done.returncode == 9
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["type"], last["status"], last["exit_code"]) == ("result", "refused", 9)
    assert last["error"]["id"] == "repository"


def test_global_options_stand_before_or_after_the_command(acr, tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text("attempts = 7\n")
    for arguments in (["--config", config, "config", "show"], ["config", "show", "--config", config]):
        assert "attempts = 7" in acr(*arguments).stdout


def test_dash_c_is_as_if_started_there(acr, tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / ".git").mkdir(parents=True)
    (place / ".acr.toml").write_text("attempts = 1\n")
    for arguments in (["-C", place, "config", "show"], ["config", "show", "-C", place]):
        assert "attempts = 1" in acr(*arguments).stdout


def test_warnings_about_a_project_file_go_to_stderr_and_are_quiet_with_q(acr, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = "image = 'x'\nsandbox = 'none'\ntest = 'x'\nmax_csot = 1\n"
    (tmp_path / ".acr.toml").write_text(text)
    (said,) = acr("config", "show", cwd=tmp_path).stderr.splitlines()
    assert "ignored keys: 'image' (line 1), 'test' (line 3), which a project may not set; " in said
    assert "'sandbox' (line 2; \"auto\" holds), which it may only narrow; " in said
    assert "'max_csot' (line 4; did you mean 'max_cost'?), unknown." in said
    assert acr("-q", "config", "show", cwd=tmp_path).stderr == ""


def test_an_unforeseen_error_is_one_sentence_and_a_trace_in_a_file(acr_home: Path, capsys) -> None:
    def surprise(arguments: list[str], invocation: Invocation) -> int:
        raise RuntimeError("boom\x1b[2J\nand more")

    assert guarded([], Invocation(), run=surprise) == 1
    (trace,) = (acr_home / "logs").iterdir()
    assert "surprise" in trace.read_text()
    assert trace.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr().err == (
        f"acr: Unexpected RuntimeError: boom and more [unexpected]\n     The trace is in {trace}.\n"
    )


def test_with_v_an_unforeseen_error_shows_its_trace(capsys) -> None:
    def surprise(arguments: list[str], invocation: Invocation) -> int:
        raise RuntimeError("boom")

    assert guarded([], Invocation(verbose=True), run=surprise) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_stops_reading_is_no_error(acr_home: Path) -> None:
    command = f"'{PROGRAM}' completion bash | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], text=True, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_one_line_and_exit_130(git_repo, acr_home: Path, stop: signal.Signals) -> None:
    # `fix -` waits for its standard input, which stays open.
    process = subprocess.Popen(
        [PROGRAM, "fix", "-", "--json"],
        cwd=git_repo({"a.py": ""}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    waiting = Path(f"/proc/{process.pid}/wchan")
    for _ in range(600):
        if "pipe" in waiting.read_text():
            break
        time.sleep(0.05)
    process.send_signal(stop)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "acr: Interrupted.\n"
    assert json.loads(out.splitlines()[-1])["status"] == "interrupted"


@pytest.mark.parametrize(
    ("environ", "arguments", "coloured"),
    [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({}, ["--no-color"], False),
        ({"TERM": "dumb"}, [], False),
    ],
)
def test_a_terminal_is_coloured_unless_it_is_not_wanted(
    acr_home: Path, tmp_path: Path, environ: dict[str, str], arguments: list[str], coloured: bool
) -> None:
    told = {**os.environ, "TERM": "xterm-256color", **environ}
    child = pexpect.spawn(
        str(PROGRAM), ["fix", *arguments], cwd=str(tmp_path), env=told, timeout=60, encoding="utf-8"
    )  # type: ignore[arg-type]
    said = child.read()
    child.close()
    assert child.exitstatus == 9
    assert ("\x1b[31m" in said) is coloured


# --- standard input ---------------------------------------------------------------------------------------


def heard(stdin: object, cwd: Path, *arguments: str) -> tuple[str, str]:
    """The task's text as `acr fix` would take it, and its remark."""
    code = (
        "import json, sys; from acr_cli.cli.inputs import read_task\n"
        "task, remark = read_task(*json.loads(sys.argv[1]), None)\n"
        "print(json.dumps([task.text, task.log, remark]))"
    )
    given = json.dumps([arguments[0] if arguments else None, None, None])
    done = subprocess.run(
        [sys.executable, "-c", code, given],
        stdin=stdin,
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        timeout=30,
    )
    text, _, remark = json.loads(done.stdout)
    return text, remark


def test_what_is_piped_is_the_task(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"fix the bound\n")
    os.close(write)
    assert heard(read, tmp_path) == ("fix the bound", "")
    os.close(read)


def test_a_file_on_standard_input_is_the_task(tmp_path: Path) -> None:
    (tmp_path / "issue.txt").write_text("fix the bound\n")
    with (tmp_path / "issue.txt").open() as file:
        assert heard(file, tmp_path) == ("fix the bound", "")


def test_an_open_but_silent_pipe_is_not_waited_for(tmp_path: Path) -> None:
    read, write = os.pipe()
    text, remark = heard(read, tmp_path)
    os.close(write)
    os.close(read)
    assert text == ""
    assert "acr fix -" in remark


def test_an_empty_standard_input_is_no_task(tmp_path: Path) -> None:
    assert heard(subprocess.DEVNULL, tmp_path) == ("", "")


def test_a_closed_standard_input_is_no_task(acr_home: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{PROGRAM}' fix <&-"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 9
    assert "Traceback" not in done.stderr


def test_standard_input_is_never_joined_to_a_task(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"something else\n")
    os.close(write)
    assert heard(read, tmp_path, "fix the bound") == ("fix the bound", "")
    os.close(read)


def test_a_dash_reads_standard_input(tmp_path: Path) -> None:
    (tmp_path / "issue.txt").write_text("fix the bound\n")
    with (tmp_path / "issue.txt").open() as file:
        assert heard(file, tmp_path, "-") == ("fix the bound", "")


# --- streams and homes that are not there -----------------------------------------------------------------


def in_shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    line = ["bash", "-c", command.replace("acr", f"'{PROGRAM}'", 1)]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


@pytest.mark.parametrize("command", ["acr --version", "acr -h", "acr config show", "acr runs list --json"])
def test_a_closed_standard_output_is_no_error(acr_home: Path, tmp_path: Path, command: str) -> None:
    done = in_shell(f"{command} >&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_closed_streams_leave_the_exit_code_as_it_is(acr_home: Path, tmp_path: Path) -> None:
    assert in_shell("acr fix >&- 2>&- <&-", tmp_path).returncode == 9


@pytest.mark.parametrize("command", ["acr --version", "acr -h", "acr completion bash", "acr models list"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_one_sentence(
    acr_home: Path, tmp_path: Path, command: str, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    done = in_shell(f"{command} >/dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr == "acr: The output cannot be written: no space left on device. [output]\n"
    assert not (acr_home / "logs").exists()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_error(
    acr_home: Path, tmp_path: Path, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    done = in_shell("acr completion zsh | head -1; exit ${PIPESTATUS[0]}", tmp_path)
    assert (done.returncode in (0, 141), done.stderr) == (True, "")


@pytest.mark.parametrize(
    ("command", "code"),
    [("--version", 0), ("models list", 0), ("bench compare --nope", 2), ("fix", 9), ("chat --model nope", 3)],
)
@pytest.mark.parametrize("streams", ["2>/dev/full", "2>&-", ">&- 2>&- <&-", "2>&1 | true; exit $PIPESTATUS"])
def test_progress_that_nobody_can_read_changes_no_exit_code(
    acr_home: Path, tmp_path: Path, command: str, code: int, streams: str
) -> None:
    done = in_shell(f"acr {command} {streams}", tmp_path)
    assert done.returncode == code
    assert not (acr_home / "logs").exists()


def test_too_little_memory_is_one_sentence_and_leaves_no_copy(
    acr_home: Path, git_repo: Callable[..., Path]
) -> None:
    repo = git_repo({"a.py": "x = 1\n", "test_a.py": "def test_a():\n    assert 0\n"})
    done = in_shell("ulimit -v 250000; acr fix --sandbox none --yes", repo)
    assert (done.returncode, done.stderr.splitlines()[-2:]) == (
        1,
        [
            "acr: This machine's memory is used up. [out-of-memory]",
            "     Close other programs, or raise the limit (ulimit -v).",
        ],
    )
    assert not (acr_home / "logs").exists()
    assert list(acr_home.glob("runs/*/tree")) == list(acr_home.glob("runs/*/sandbox")) == []


def test_a_home_that_does_not_exist_is_told_of_acr_home(acr, tmp_path: Path) -> None:
    done = acr("config", "show", cwd=tmp_path, env={"ACR_HOME": "~nobody-of-this-name/acr"})
    assert done.returncode == 3
    assert "there is no such home directory" in done.stderr
    assert "Set ACR_HOME" in done.stderr


@pytest.mark.parametrize("command", ["runs list", "undo", "apply", "config set --project allow x", "fix"])
def test_a_folder_that_is_gone_is_one_sentence(acr_home: Path, tmp_path: Path, command: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "$1" && rmdir "$1" && exec "$2" {command}'
    arguments = ["sh", "-c", script, "sh", str(gone), str(Path(sys.executable).parent / "acr")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (2, "acr: The current directory no longer exists. [usage]\n")


def test_an_interrupt_in_a_finalizer_is_not_lost(acr_home: Path) -> None:
    code = """
import signal, sys, time
from acr_cli.cli.invocation import Invocation
from acr_cli.cli.main import guarded, hear_interrupts

class Closing:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def run(arguments, invocation):
    Closing()
    time.sleep(30)
    return 0

hear_interrupts()
sys.exit(guarded([], Invocation(), run))
"""
    python = [sys.executable, "-c", code]
    result = subprocess.run(python, check=False, capture_output=True, text=True, timeout=25)

    assert (result.returncode, "Traceback" in result.stderr) == (130, False), result.stderr


BUSY = """
import atexit, sys, threading, time
import onnxruntime
from acr_cli.cli.main import program

def load():
    while True:
        try:
            onnxruntime.InferenceSession(b"no model")
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidProtobuf:
            pass

def last():
    time.sleep(0.1)
    sys.stderr.write("waited for\\n")

for _ in range(3):
    threading.Thread(target=load, daemon=True).start()
threading.Thread(target=last).start()
atexit.register(sys.stderr.write, "at the end\\n")
sys.argv = ["acr", "--version"]
program()
"""


def test_a_library_that_is_at_work_in_the_background_does_not_crash_the_end() -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", BUSY], check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "waited for\nat the end\n")
        assert done.stdout.startswith("acr ")
