"""Fine-tuning: an adapter on a causal language model, resumable, stopped early, calibrated.

LoRA (Hu et al. 2021) with the sizes of arXiv 2606.22902 on every linear layer of attention and MLP. The loss
is that of the best candidate's name alone. Order and dropout follow from the seed and the number of the step,
so that a training that goes on from a checkpoint gives the weights of one that was never broken off.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import cos, isfinite, pi
from pathlib import Path
from typing import Any

import numpy as np

from acr_cli.advisor import language_model as lm
from acr_cli.advisor.card import Card
from acr_cli.advisor.question import written
from acr_cli.errors import UsageError
from acr_cli.training import calibration
from acr_cli.training.measures import figures, majority
from acr_cli.training.questions import Drill, Drills
from acr_cli.training.tasks import PASSES, labels

RANK, ALPHA, DROPOUT = 16, 32, 0.05
"""Of the released adapter (arXiv 2606.22902)."""

WARM_UP = 0.05  # of all steps, while the rate of learning rises
CLIP = 1.0  # of the gradient's norm
CHECKPOINT = "checkpoint"


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How an adapter is trained."""

    base: str
    steps: int
    batch: int
    accumulate: int
    rate: float
    patience: int
    every: int
    measured: int
    seed: int
    device: str = "auto"
    download: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A step of the training; what was held out is measured at some."""

    step: int
    steps: int
    loss: float
    held_loss: float | None = None
    accuracy: float | None = None
    regret: float | None = None  # mean, in reward


def tune(
    recipe: Recipe,
    card: Card,
    drills: Drills,
    folder: Path,
    *,
    tell: Callable[[str], None] = lambda _: None,
    seen: Callable[[Seen], None] = lambda _: None,
) -> Card:
    """Train, calibrate, measure; adapter and tokenizer are in `folder` then. The finished card.

    Goes on from a checkpoint in `folder` of the same card.

    Raises: UsageError, ConfigurationError, OSError."""
    if not recipe.base:
        raise UsageError("An adapter needs a language model.", hint="Name its folder or its name: --base.")
    if not drills.train:
        raise UsageError("No task has a model that is better than the others: there is nothing to learn.")
    lm.libraries()
    if not Path(recipe.base).exists():
        tell(f"{recipe.base}: from the hub's cache, into which it is fetched if it is not there")
    from safetensors import SafetensorError

    try:
        base = _base(recipe, folder)
        training = _Training(recipe, card, drills, folder, base)
        if training.step:
            tell(f"goes on after step {training.step} of {recipe.steps}")
        training.run(seen)
        return training.finish()
    except SafetensorError as error:  # it reads whole files that it wrote itself: the disk took no more
        raise OSError(str(error)) from error
    except (MemoryError, RuntimeError) as error:
        if problem := lm.out_of_memory(error):
            raise problem from error
        raise


def _base(recipe: Recipe, folder: Path) -> str:
    """What the adapter stands on: a .gguf is unpacked into the folder once."""
    if not recipe.base.endswith(".gguf"):
        return recipe.base
    unpacked = folder / lm.BASE
    if not unpacked.is_dir():
        import torch
        from transformers import AutoModelForCausalLM

        loaded = lm.load_base(recipe.base, device="cpu", download=False)
        config = loaded.model.config
        if hasattr(
            config, "quantization_config"
        ):  # as read it may not be written, though nothing is quantized
            del config.quantization_config
        plain = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        plain.load_state_dict(loaded.model.state_dict())
        part = folder / f"{lm.BASE}.part"
        shutil.rmtree(part, ignore_errors=True)
        plain.save_pretrained(part)
        loaded.tokenizer.save_pretrained(part)
        part.replace(unpacked)
    return str(unpacked)


class _Training:
    def __init__(self, recipe: Recipe, card: Card, drills: Drills, folder: Path, base: str) -> None:
        import torch
        from peft import LoraConfig, get_peft_model

        self.recipe, self.card, self.drills, self.folder = recipe, card, drills, folder
        loaded = lm.load_base(base, device=recipe.device, download=recipe.download)
        torch.manual_seed(recipe.seed)
        config = LoraConfig(
            r=RANK, lora_alpha=ALPHA, lora_dropout=DROPOUT, target_modules="all-linear", task_type="CAUSAL_LM"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the one library about names of the other
            self.loaded = replace(loaded, model=get_peft_model(loaded.model, config))
        self.weights: dict[str, Any] = {
            name: each for name, each in self.loaded.model.named_parameters() if each.requires_grad
        }
        self.optimizer = torch.optim.AdamW(self.weights.values(), lr=recipe.rate, weight_decay=0.0)
        self.best = {name: each.detach().clone() for name, each in self.weights.items()}
        self.step, self.stale, self.best_loss = 0, 0, float("inf")
        self.history: list[dict[str, float | None]] = []
        self.measured = _spread(drills, recipe.measured, card.characters)
        self._resume()

    # --- the loop -----------------------------------------------------------------------------

    def run(self, seen: Callable[[Seen], None]) -> None:
        """Steps until they are done or nothing improves any more."""
        recipe = self.recipe
        while self.step < recipe.steps and self.stale < recipe.patience:
            loss = self._learn()
            self.step += 1
            told = Seen(step=self.step, steps=recipe.steps, loss=loss)
            if self.step % recipe.every == 0 or self.step == recipe.steps:
                told = self._measure(told)
                self._checkpoint()
            seen(told)

    def _learn(self) -> float:
        """One step of the optimizer; its mean loss."""
        import torch

        recipe, model = self.recipe, self.loaded.model
        model.train()
        torch.manual_seed(recipe.seed * 1_000_003 + self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.rate * _pace(self.step, recipe.steps)
        total = 0.0
        for part in range(recipe.accumulate):
            loss = self._loss(_drawn(self.drills.train, recipe, self.step * recipe.accumulate + part))
            (loss / recipe.accumulate).backward()
            total += float(loss.detach())
        if not isfinite(total):
            raise UsageError(f"The loss is no number at step {self.step + 1}.", hint="Use a smaller --rate.")
        torch.nn.utils.clip_grad_norm_(list(self.weights.values()), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total / recipe.accumulate

    def _loss(self, drills: Sequence[Drill]) -> Any:
        """The weighted mean of what each best name costs in nats a token."""
        import torch

        tokenizer, device = self.loaded.tokenizer, self.loaded.device
        heads = [
            lm.prompt_tokens(tokenizer, written(d.question, characters=self.card.characters)) for d in drills
        ]
        ends = [lm.name_tokens(tokenizer, d.best) for d in drills]
        longest = max(len(h) + len(e) for h, e in zip(heads, ends, strict=True))
        lm.check_room(self.loaded, longest)
        rows = [h + e + [0] * (longest - len(h) - len(e)) for h, e in zip(heads, ends, strict=True)]
        mask = [
            [1] * (len(h) + len(e)) + [0] * (longest - len(h) - len(e))
            for h, e in zip(heads, ends, strict=True)
        ]
        decoder, head = self.loaded.model.get_decoder(), self.loaded.model.get_output_embeddings()
        states = decoder(
            input_ids=torch.tensor(rows, device=device),
            attention_mask=torch.tensor(mask, device=device),
            use_cache=False,
        ).last_hidden_state
        losses = []
        for row, (h, e) in enumerate(zip(heads, ends, strict=True)):
            logits = head(states[row, len(h) - 1 : len(h) - 1 + len(e)]).float()
            losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor(e, device=device)))
        weights = torch.tensor([d.weight for d in drills], device=device)
        return (torch.stack(losses) * weights).sum() / weights.sum()

    def _measure(self, told: Seen) -> Seen:
        scores = self._scores(self.measured)
        matrix = self.drills.matrix.take(self.measured)
        rows, best, weights = labels(matrix)
        chosen = scores.argmax(axis=1)
        held = figures(matrix, chosen)
        loss = None
        if len(rows):
            warm = calibration.softmax(scores[rows] / calibration.temperature(scores[rows], best, weights))
            each = -np.log(np.maximum(warm[np.arange(len(rows)), best], 1e-12))
            loss = float((weights * each).sum() / weights.sum())
        if loss is None or loss < self.best_loss - 1e-4:  # where nobody is best, the latest are
            self.best_loss, self.stale = self.best_loss if loss is None else loss, 0
            self.best = {name: each.detach().clone() for name, each in self.weights.items()}
        else:
            self.stale += 1
        told = replace(
            told,
            held_loss=loss,
            accuracy=held.get("accuracy"),
            regret=held["cum_reg"] / max(held["tasks"], 1),
        )
        line = {"step": told.step, "loss": told.loss, "held_loss": loss}
        self.history.append({**line, "accuracy": told.accuracy, "regret": told.regret})
        return told

    def _scores(self, rows: Sequence[int]) -> Any:
        """T x C scores of the names; equal questions are asked once."""
        self.loaded.model.eval()
        names, kept = self.card.candidates, {}
        found = []
        for row in rows:
            prompt = written(self.drills.held[row], characters=self.card.characters)
            if prompt not in kept:
                kept[prompt] = lm.name_scores(self.loaded, prompt, names)
            found.append(kept[prompt])
        return np.array(found)

    # --- checkpoints --------------------------------------------------------------------------

    def _checkpoint(self) -> None:
        """Durably, under a name of its own; only then is the one before it removed."""
        from safetensors.torch import save_file

        place = self.folder / f"{CHECKPOINT}-{self.step}"
        part = place.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        save_file({n: w.detach().contiguous() for n, w in self.weights.items()}, part / "weights.safetensors")
        save_file({n: w.contiguous() for n, w in self.best.items()}, part / "best.safetensors")
        moments = {
            f"{kind}/{name}": self.optimizer.state[weight][kind].detach().contiguous()
            for name, weight in self.weights.items()
            for kind in ("exp_avg", "exp_avg_sq", "step")
        }
        save_file(moments, part / "optimizer.safetensors")
        state = {
            "fingerprint": self.card.fingerprint,
            "step": self.step,
            "stale": self.stale,
            "best_loss": self.best_loss,
            "history": self.history,
        }
        (part / "state.json").write_text(json.dumps(state), "utf-8")
        for file in part.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
        shutil.rmtree(place, ignore_errors=True)
        part.replace(place)
        for older in self.folder.glob(f"{CHECKPOINT}-*"):
            if older != place:
                shutil.rmtree(older, ignore_errors=True)

    def _resume(self) -> None:
        from safetensors.torch import load_file

        state, place = _latest(self.folder, self.card.fingerprint)
        if place is None:
            return
        self.step, self.stale = int(state["step"]), int(state["stale"])
        self.best_loss, self.history = float(state["best_loss"]), list(state["history"])
        self._put(load_file(place / "weights.safetensors"))
        best = load_file(place / "best.safetensors")
        self.best = {name: best[name].to(self.loaded.device) for name in self.weights}
        moments = load_file(place / "optimizer.safetensors")
        for name, weight in self.weights.items():
            self.optimizer.state[weight] = {
                "step": moments[f"step/{name}"],
                "exp_avg": moments[f"exp_avg/{name}"].to(self.loaded.device),
                "exp_avg_sq": moments[f"exp_avg_sq/{name}"].to(self.loaded.device),
            }

    def _put(self, weights: Mapping[str, Any]) -> None:
        import torch

        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(weights[name])

    # --- the end ------------------------------------------------------------------------------

    def finish(self) -> Card:
        """The best weights, calibrated on what was held out, written beside the tokenizer."""
        self._put(self.best)
        model = self.loaded.model.eval()
        matrix = self.drills.matrix.take(self.measured)
        scores = self._scores(self.measured)
        rows, best, weights = labels(matrix)
        heat = calibration.temperature(scores[rows], best, weights) if len(rows) else 1.0
        shares = calibration.softmax(scores / heat)
        solved = np.where(matrix.available, (matrix.score >= PASSES).astype(np.float64), np.nan)
        model.save_pretrained(self.folder / lm.ADAPTER)
        self.loaded.tokenizer.save_pretrained(self.folder / lm.TOKENIZER)
        for old in self.folder.glob(f"{CHECKPOINT}-*"):
            shutil.rmtree(old, ignore_errors=True)
        return replace(
            self.card,
            temperature=heat,
            chances=calibration.chances(shares, self._rates(matrix.dimensions.to_list()), solved),
            figures={
                "alone": figures(matrix, scores.argmax(axis=1)),
                "majority": figures(matrix, majority(self.drills.tasks.train, matrix)),
                "history": self.history,
                "steps": self.step,
            },
        )

    def _rates(self, kinds: Sequence[str]) -> Any:
        known = {kind: [rate.rate for rate in self.card.known(kind)] for kind in set(kinds)}
        return np.array([[0.5 if rate is None else rate for rate in known[kind]] for kind in kinds])


def _latest(folder: Path, fingerprint: str) -> tuple[dict[str, Any], Path | None]:
    """The newest checkpoint of the same training; others are of no use."""
    found: list[tuple[int, dict[str, Any], Path]] = []
    for place in folder.glob(f"{CHECKPOINT}-*"):
        try:
            state = json.loads((place / "state.json").read_text("utf-8"))
            ours = place.suffix != ".part" and state["fingerprint"] == fingerprint
            step = int(state["step"])
        except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
            continue
        if ours:
            found.append((step, state, place))
    if not found:
        return {}, None
    _, state, place = max(found, key=lambda each: each[0])
    return state, place


def _pace(step: int, steps: int) -> float:
    """The share of the rate of learning at a step: up in a line, down along a cosine to a tenth. Pure."""
    rising = max(1, round(WARM_UP * steps))
    if step < rising:
        return (step + 1) / rising
    return 0.1 + 0.9 * (1 + cos(pi * (step - rising) / max(1, steps - rising))) / 2


def _drawn(drills: Sequence[Drill], recipe: Recipe, number: int) -> list[Drill]:
    """The drills of a batch: every pass in another order. Of those without a text, which are many alike, a
    pass takes no more than there are with one. Pure."""
    told = [place for place, drill in enumerate(drills) if drill.question.text]
    mute = [place for place, drill in enumerate(drills) if not drill.question.text]
    few = min(len(mute), len(told)) if told else len(mute)
    size = len(told) + few
    chosen: list[Drill] = []
    for position in range(number * recipe.batch, (number + 1) * recipe.batch):
        turn, at = divmod(position, size)
        chosen.append(drills[_order(tuple(told), tuple(mute), few, recipe.seed, turn)[at]])
    return chosen


def _order(told: tuple[int, ...], mute: tuple[int, ...], few: int, seed: int, turn: int) -> list[int]:
    rng = np.random.default_rng([seed, turn])
    taken = rng.permutation(np.array(mute, dtype=np.int64))[:few]
    return list(rng.permutation(np.concatenate([np.array(told, dtype=np.int64), taken])))


def _spread(drills: Drills, most: int, characters: int) -> list[int]:
    """Rows of held-out tasks, evenly spread, with at most so many different questions. Pure."""
    prompts = [written(question, characters=characters) for question in drills.held]
    different = list(dict.fromkeys(prompts))
    taken = {different[int(place)] for place in np.linspace(0, len(different) - 1, min(most, len(different)))}
    return [row for row, prompt in enumerate(prompts) if prompt in taken]
