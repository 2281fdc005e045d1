"""An adapter on a tiny Qwen3.5 with random weights: it learns, goes on after a kill, votes as computed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from acr_cli.advisor.card import Card, write_card
from acr_cli.advisor.question import written
from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.orchestrator.voters.policy_model import PolicyModelVoter, question_of
from acr_cli.records import Candidate, Context
from acr_cli.training.questions import Drills, asked
from tests.training.rule import KINDS, rule_card, rule_tasks

pytestmark = [pytest.mark.local, pytest.mark.slow, pytest.mark.timeout(600)]

STEPS = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """A base model, and an adapter that was trained on it."""

    base: Path
    folder: Path
    card: Card
    drills: Drills


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other crawl where the cores are busy."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def recipe(base: Path, **changes: Any) -> Any:
    from acr_cli.training.lora import Recipe

    plain = Recipe(
        base=str(base), steps=STEPS, batch=8, accumulate=1, rate=4e-3, patience=9, every=40, measured=40,
        seed=0, device="cpu", download=False,
    )  # fmt: skip
    return replace(plain, **changes)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    from acr_cli.testing.tiny_model import write_tiny_model
    from acr_cli.training.lora import tune

    root = tmp_path_factory.mktemp("adapter")
    tasks = rule_tasks(400, 60)
    card = rule_card(tasks)
    drills = asked(tasks, card, {})
    base = write_tiny_model(root / "base", [written(d.question) for d in drills.train], hidden=128)
    folder = root / "policies" / "rule"
    folder.mkdir(parents=True)
    card = tune(recipe(base), replace(card, base=str(base)), drills, folder)
    write_card(folder, card)
    return World(base=base, folder=folder, card=card, drills=drills)


def test_the_loss_falls_and_the_rule_is_learned(world: World) -> None:
    figures = world.card.figures
    history = figures["history"]

    assert history[-1]["loss"] < 0.75 * history[0]["loss"]
    assert figures["alone"]["accuracy"] > figures["majority"]["accuracy"] + 0.2
    assert figures["alone"]["cum_reg"] < figures["majority"]["cum_reg"]
    assert world.card.chances[2] > 0  # the likelier it is to be named, the likelier it solves the task
    assert 0.01 <= world.card.temperature <= 20


def test_what_is_loaded_votes_as_what_was_trained(world: World) -> None:
    from acr_cli.advisor.language_model import LanguageModel

    voter = PolicyModelVoter(world.card, LanguageModel(world.folder, world.card, device="cpu"))
    again = PolicyModelVoter(world.card, LanguageModel(world.folder, world.card, device="cpu"))
    asked_of = [
        Candidate(id=f"acme/{name}", backend="agent", model=f"acme/{name}")
        for name in (*world.card.candidates, "gamma")
    ]
    right = 0
    for row in range(20):
        held = world.drills.held[row]
        context = Context(text=held.text, dimension=held.dimension, language=held.language)
        votes = voter.vote(context, asked_of)
        assert set(votes) == {f"acme/{name}" for name in world.card.candidates}  # it never saw gamma
        assert all(0 <= vote.value <= 1 for vote in votes.values())
        assert votes == again.vote(context, asked_of)
        alone = voter.vote(context, asked_of[:1])
        assert alone["acme/alpha-large"] == votes["acme/alpha-large"]
        best = max(votes, key=lambda name: votes[name].value)
        right += (
            world.drills.matrix.score[row, world.card.candidates.index(best.removeprefix("acme/"))] == 1.0
        )

    assert right / 20 > 0.6


def test_a_score_is_what_brute_force_computes(world: World) -> None:
    import torch

    from acr_cli.advisor import language_model as lm

    loaded = lm.load_trained(world.folder, world.card, "cpu")
    names = [*world.card.candidates, "beta-mini-and-much-longer"]
    for row in (0, 1):
        prompt = written(world.drills.held[row])
        slow = []
        for name in names:
            head = lm.prompt_tokens(loaded.tokenizer, prompt)
            tail = lm.name_tokens(loaded.tokenizer, name)
            with torch.inference_mode():
                logits = loaded.model(input_ids=torch.tensor([head + tail])).logits[0]
            logs = torch.log_softmax(logits.float(), dim=-1)
            each = [float(logs[len(head) - 1 + at, token]) for at, token in enumerate(tail)]
            slow.append(sum(each) / len(each))

        assert lm.name_scores(loaded, prompt, names) == pytest.approx(slow, abs=1e-4)
        shares = lm.shares(dict(zip(names, slow, strict=True)), world.card.temperature)
        assert sum(shares.values()) == pytest.approx(1.0)


def test_the_model_reads_the_prompt_that_it_was_trained_on(world: World) -> None:
    drill = world.drills.train[0]
    context = Context(
        text=drill.question.text, dimension=drill.question.dimension, language=drill.question.language
    )

    assert written(question_of(world.card, context)) == written(drill.question)
    assert KINDS[world.card.candidates.index(drill.best)] in written(drill.question)


# --- broken off, and gone on ----------------------------------------------------------------------

TRAIN = """
import sys, time
from pathlib import Path
import torch
torch.set_num_threads(1)
from acr_cli.training.lora import Seen, tune
from acr_cli.training.questions import asked
from tests.training.rule import rule_card, rule_tasks
from tests.training.test_lora import recipe
tasks = rule_tasks(120, 20)
card = rule_card(tasks)
def seen(now):
    print(now.step, flush=True)
    if now.step == int(sys.argv[3]):
        time.sleep(600)
short = recipe(Path(sys.argv[1]), steps=9, every=3, measured=5)
tune(short, card, asked(tasks, card, {}), Path(sys.argv[2]), seen=seen)
"""


def test_a_training_that_was_killed_ends_with_the_weights_of_one_that_was_not(
    world: World, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    from acr_cli.training.lora import tune

    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    killed.mkdir()
    unbroken.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(world.base), str(killed), "5"],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "5":  # two steps after the checkpoint
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    process.stdout.close()
    assert (killed / "checkpoint-3" / "state.json").is_file()

    tasks = rule_tasks(120, 20)
    card = rule_card(tasks)
    short = recipe(world.base, steps=9, every=3, measured=5)
    steps: list[int] = []
    told: list[str] = []
    first = tune(
        short, card, asked(tasks, card, {}), killed, tell=told.append, seen=lambda now: steps.append(now.step)
    )
    second = tune(short, card, asked(tasks, card, {}), unbroken)

    assert steps == [4, 5, 6, 7, 8, 9]
    assert told == ["goes on after step 3 of 9"]
    ours, theirs = (
        load_file(folder / "adapter" / "adapter_model.safetensors") for folder in (killed, unbroken)
    )
    assert set(ours) == set(theirs)
    assert all((ours[name] == theirs[name]).all() for name in ours)
    assert first.figures["history"] == second.figures["history"]
    assert first.chances == second.chances
    assert not list(killed.glob("checkpoint-*"))


def test_a_checkpoint_of_another_training_is_not_gone_on_from(world: World, tmp_path: Path) -> None:
    from acr_cli.training.lora import tune

    tasks = rule_tasks(120, 20)
    card = rule_card(tasks)
    old = tmp_path / "checkpoint-7"
    old.mkdir()
    (old / "state.json").write_text('{"fingerprint": "another", "step": 7}')
    steps: list[int] = []

    tune(
        recipe(world.base, steps=1, every=1, measured=2), card, asked(tasks, card, {}), tmp_path,
        seen=lambda now: steps.append(now.step),
    )  # fmt: skip

    assert steps == [1]


# --- what goes wrong ------------------------------------------------------------------------------


def test_weights_that_are_not_here_are_one_sentence(tmp_path: Path) -> None:
    from acr_cli.training.lora import tune

    tasks = rule_tasks(60, 20)
    card = rule_card(tasks)
    for base in ("nobody/no-such-model", str(tmp_path)):
        with pytest.raises(ConfigurationError, match="is not on this machine") as caught:
            tune(recipe(Path(base)), card, asked(tasks, card, {}), tmp_path)
        assert "fetched" not in caught.value.message  # nobody was asked
        assert "\n" not in caught.value.message
        assert caught.value.hint
    with pytest.raises(UsageError, match="needs a language model"):
        tune(replace(recipe(tmp_path), base=""), card, asked(tasks, card, {}), tmp_path)


def test_want_of_memory_is_one_sentence() -> None:
    from acr_cli.advisor.language_model import out_of_memory

    for error in (
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
    ):
        assert isinstance(out_of_memory(error), ConfigurationError)
    other = RuntimeError("shapes do not fit")
    assert out_of_memory(other) is None


def test_an_adapter_that_is_damaged_is_one_sentence(world: World, tmp_path: Path) -> None:
    from acr_cli.advisor.language_model import LanguageModel

    broken = LanguageModel(tmp_path, world.card, device="cpu")

    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        broken.shares(world.drills.held[0])


def no_numbers(path: Path) -> None:
    from safetensors.torch import load_file, save_file

    save_file({name: each * float("nan") for name, each in load_file(path).items()}, path)


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("adapter/adapter_model.safetensors", lambda path: path.write_bytes(path.read_bytes()[:-9])),
        ("adapter/adapter_model.safetensors", no_numbers),
        ("adapter/adapter_config.json", lambda path: path.write_text("[]")),
        ("tokenizer/tokenizer.json", lambda path: path.write_text("{}")),
        ("base/model.safetensors", lambda path: path.write_bytes(b"")),
        ("base/config.json", lambda path: path.write_text(path.read_text().replace(": 128,", ": 64,"))),
    ],
)
def test_a_file_that_is_damaged_is_one_sentence(
    world: World, tmp_path: Path, file: str, damage: Callable[[Path], object]
) -> None:
    from acr_cli.advisor.language_model import LanguageModel

    shutil.copytree(world.folder, tmp_path, dirs_exist_ok=True)
    shutil.copytree(world.base, tmp_path / "base")
    damage(tmp_path / file)

    with pytest.raises(ConfigurationError) as caught:
        LanguageModel(tmp_path, world.card, device="cpu").shares(world.drills.held[0])

    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_question_longer_than_the_model_reads_has_no_vote(world: World, tmp_path: Path) -> None:
    from acr_cli.advisor.language_model import LanguageModel, TooLong
    from acr_cli.training.lora import tune

    shutil.copytree(world.folder, tmp_path, dirs_exist_ok=True)
    shutil.copytree(world.base, tmp_path / "base")
    config = tmp_path / "base" / "config.json"
    config.write_text(
        config.read_text().replace('"max_position_embeddings": 4096', '"max_position_embeddings": 32')
    )
    voter = PolicyModelVoter(world.card, LanguageModel(tmp_path, world.card, device="cpu"))
    beta = Candidate(id="acme/beta", backend="agent", model="acme/beta")

    assert voter.vote(Context(text="the socket is broken", dimension="bug_fixing"), [beta]) == {}
    with pytest.raises(TooLong, match="longer than the 32"):
        tune(recipe(tmp_path / "base", steps=1), world.card, world.drills, tmp_path / "adapter")


def test_a_training_that_comes_apart_ends(world: World, tmp_path: Path) -> None:
    from acr_cli.training.lora import tune

    wild = recipe(world.base, rate=1e30, steps=9, every=9)

    with pytest.raises(UsageError, match="no number at step") as caught:
        tune(wild, world.card, world.drills, tmp_path)

    assert "--rate" in caught.value.hint


def test_a_pass_takes_every_text_once_and_no_more_without(world: World) -> None:
    from acr_cli.training.lora import _drawn

    few = list(world.drills.train[:10])
    mute = [replace(d, question=replace(d.question, text="")) for d in world.drills.train[10:50]]
    seen = [
        drill.question.text
        for number in range(4)
        for drill in _drawn([*few, *mute], recipe(world.base, batch=5), number)
    ]

    assert sorted(text for text in seen if text) == sorted(drill.question.text for drill in few)
    assert seen.count("") == 10
