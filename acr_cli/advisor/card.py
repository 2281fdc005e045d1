"""Trained policy models on disk: a folder each, whose card says what it is and what it was trained on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any

from acr_cli.advisor.question import CHARACTERS, Rate
from acr_cli.errors import ConfigurationError, UsageError

FOLDER = "policies"
FILE = "card.json"
SCHEMA = 1
KINDS = ("classifier", "lora")
LONGEST_NAME = 100
TRAIN_ANEW = "Train it anew with `acr train policy`."


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """What is known of a trained policy model. Costs in USD, rates and chances in [0, 1]."""

    name: str
    kind: str  # of KINDS
    made: float  # Unix time
    acr_version: str
    candidates: tuple[str, ...]  # whom it knows
    source: str  # where its tasks come from, for people
    fingerprint: str  # SHA-256 over its tasks and settings, hexadecimal
    tasks: int  # trained on
    held_out: int  # calibrated and measured on
    base: str = ""  # of an adapter: the model's folder or its name
    characters: int = CHARACTERS  # of a text that are read
    temperature: float = 1.0
    chances: tuple[float, float, float] = (0.0, 1.0, 0.0)
    """Of an adapter: (a, b, c) in logit chance = a + b logit rate + c log(share x candidates)."""
    rates: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """By dimension ("" for all of them) and candidate: rate of success, mean cost."""
    figures: Mapping[str, Any] = field(default_factory=dict)  # measured on what was held out
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def voter(self) -> str:
        """The name that it votes by: a model that was trained anew begins with a weight of its own."""
        return f"{self.kind}.{self.fingerprint[:4]}"

    def known(self, dimension: str) -> tuple[Rate, ...]:
        """What the tasks that it was trained on say of each candidate in a dimension. Pure."""
        here, everywhere = self.rates.get(dimension, {}), self.rates.get("", {})
        found = ((name, here.get(name) or everywhere.get(name)) for name in self.candidates)
        return tuple(
            Rate(candidate=name, rate=pair[0] if pair else None, cost_usd=pair[1] if pair else None)
            for name, pair in found
        )


def folder_of(home: Path, name: str) -> Path:
    """Where a policy model is kept. Raises: UsageError for what is no name."""
    letters = name[:1].isalnum() and all(c.isalnum() or c in "._-" for c in name)
    if not letters or len(name) > LONGEST_NAME:
        raise UsageError(
            f"{name[:LONGEST_NAME]!r} is no name of a policy model.",
            hint=f"At most {LONGEST_NAME} letters, digits, dots, - and _.",
        )
    return home / FOLDER / name


def read_card(folder: Path) -> Card:
    """Raises: ConfigurationError where there is no policy model, or none that this version reads."""
    path = folder / FILE
    try:
        kept = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        others = ", ".join(names(folder.parent)) or "none"
        raise ConfigurationError(
            f"No policy model is named {folder.name!r}.", hint=f"Trained: {others}. {TRAIN_ANEW}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The card {path} cannot be read: {error}.", hint=TRAIN_ANEW) from error
    try:
        if kept["schema"] != SCHEMA or kept["kind"] not in KINDS:
            raise ConfigurationError(f"{path} is of another version of acr.", hint=TRAIN_ANEW)
        known = {each.name: kept[each.name] for each in fields(Card) if each.name in kept}
        known["candidates"] = tuple(known["candidates"])
        known["chances"] = tuple(known.get("chances", (0.0, 1.0, 0.0)))
        card = Card(**known)
        _check(card)
    except KeyError as error:
        raise ConfigurationError(f"The card {path} lacks {error}.", hint=TRAIN_ANEW) from error
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigurationError(f"The card {path} is damaged: {error}.", hint=TRAIN_ANEW) from error
    return card


def _check(card: Any) -> None:
    """Whether what is computed with is what `Card` says, which a file need not keep to.

    Raises: AttributeError, TypeError, ValueError."""
    texts = (card.name, card.source, card.fingerprint, card.base, *card.candidates)
    counts = (card.characters, card.tasks, card.held_out)
    pairs = [pair for known in card.rates.values() for pair in known.values()]
    numbers = (card.made, card.temperature, *card.chances, *(n for rate, cost in pairs for n in (rate, cost)))
    if not (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(count, int) and count >= 0 for count in counts)
        and all(isfinite(number) for number in numbers)
        and len(set(card.candidates)) == len(card.candidates) > 0
        and len(card.chances) == 3
        and card.temperature > 0
    ):
        raise ValueError("a value is not what it should be")


def write_card(folder: Path, card: Card) -> None:
    """The last file that is written: a folder with a card is whole. Raises: OSError."""
    part = folder / f"{FILE}.part"
    with part.open("w", encoding="utf-8") as file:
        json.dump({"schema": SCHEMA, **asdict(card)}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / FILE)


def names(policies: Path) -> tuple[str, ...]:
    """The policy models in a folder, sorted."""
    if not policies.is_dir():
        return ()
    return tuple(sorted(each.name for each in policies.iterdir() if (each / FILE).is_file()))


def put_in_place(made: Path, folder: Path) -> None:
    """A finished folder takes the place of what was there. Raises: OSError."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.replace(old)
    made.replace(folder)
    shutil.rmtree(old, ignore_errors=True)
