"""Policy models on disk: their cards, their names, and who trains one at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from acr_cli.advisor.card import folder_of, read_card, write_card
from acr_cli.build.training import Training, installed, train
from acr_cli.errors import ConfigurationError, UsageError
from acr_cli.settings import Settings
from tests.training.rule import rule_card, rule_matrix, rule_tasks, write_files

DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "temperature 0": lambda card: card.update(temperature=0),
    "no number": lambda card: card.update(temperature=float("nan")),
    "a word": lambda card: card.update(made="yesterday"),
    "nobody": lambda card: card.update(candidates=[]),
    "numbers for names": lambda card: card.update(candidates=[1, 2]),
    "two chances": lambda card: card.update(chances=[0.0, 1.0]),
    "rates in a list": lambda card: card.update(rates=[]),
    "a rate without a cost": lambda card: card.update(rates={"": {"beta": 3}}),
    "no fingerprint": lambda card: card.update(fingerprint=None),
    "a negative length": lambda card: card.update(characters=-1),
    "no kind": lambda card: card.pop("kind"),
    "another version": lambda card: card.update(schema=2),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_card_that_is_damaged_is_one_sentence(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object]
) -> None:
    write_card(tmp_path, rule_card(rule_tasks(60, 20)))
    whole = read_card(tmp_path)
    kept = json.loads((tmp_path / "card.json").read_text())
    damage(kept)
    (tmp_path / "card.json").write_text(json.dumps(kept))

    with pytest.raises(ConfigurationError, match=r"card\.json") as caught:
        read_card(tmp_path)

    assert whole.candidates == ("alpha-large", "beta", "beta-mini")
    assert "acr train policy" in caught.value.hint


@pytest.mark.parametrize("text", ["", "[]", "null", "\0", "[" * 100_000])
def test_a_card_that_is_none_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "card.json").write_text(text)

    with pytest.raises(ConfigurationError, match=r"card\.json"):
        read_card(tmp_path)


@pytest.mark.parametrize("name", ["", ".", "../x", "a/b", "-x", "_x", "a\0b", "a b", "x" * 101])
def test_what_is_no_name_leaves_the_folder_alone(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no name of a policy model"):
        folder_of(tmp_path, name)


@pytest.fixture
def training(tmp_path: Path) -> Training:
    outcomes, texts = write_files(tmp_path, rule_matrix(60, 20))
    return Training(name="mine", matrix=outcomes, tasks=texts)


def test_one_name_is_trained_by_one_at_a_time(tmp_path: Path, training: Training) -> None:
    settings = Settings(home=tmp_path / "home")
    folder, first = train(settings, training)

    with (
        FileLock(folder.with_name(".mine.lock")),
        pytest.raises(UsageError, match="Another training of 'mine'"),
    ):
        train(settings, training)

    _, second = train(settings, training)
    assert first.fingerprint == second.fingerprint


def test_what_another_training_left_behind_goes(tmp_path: Path, training: Training) -> None:
    settings = Settings(home=tmp_path / "home")
    policies = settings.home / "policies"
    for left in (".mine~00000000/base", ".other~00000000/base"):
        (policies / left).mkdir(parents=True)

    train(settings, training)

    assert sorted(each.name for each in policies.iterdir()) == [".mine.lock", ".other~00000000", "mine"]
    assert sorted(each.name for each in (policies / "mine").iterdir()) == ["card.json", "classifier.npz"]


def test_a_language_model_that_is_gone_is_known_before_it_is_asked(tmp_path: Path) -> None:
    from dataclasses import replace

    settings = Settings(home=tmp_path)
    folder = folder_of(tmp_path, "lost")
    folder.mkdir(parents=True)
    write_card(folder, replace(rule_card(rule_tasks(60, 20)), base=str(tmp_path / "base")))

    (found,) = installed(settings, ())

    assert "base is not there" in found.problem
    assert "lost: lora on base" in found.says
