"""A causal language model that names a candidate: how likely each name is, by constrained decoding.

The prompt is computed once; all names follow it in one batch on copies of its cache. A name's score is the
mean log-probability of its tokens, and the scores are made shares by a softmax with the card's temperature.
So there is no reply that cannot be read, and a short name has no advantage. This file and `training.lora`
are the only ones that touch torch and transformers for it.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from math import exp, isfinite
from pathlib import Path
from threading import Lock
from typing import Any

from acr_cli.advisor.card import TRAIN_ANEW, Card
from acr_cli.advisor.question import ANSWER, ENDED, Question, written
from acr_cli.errors import ConfigurationError

ADAPTER, TOKENIZER, BASE = "adapter", "tokenizer", "base"
REMEMBERED = 4096  # questions whose answers are kept


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """A model that is ready to answer, and its tokenizer."""

    model: Any
    tokenizer: Any
    device: str


class TooLong(ConfigurationError):
    """A question has more tokens than the language model reads."""


class LanguageModel:
    """The model of a card's folder, loaded when it is first asked; threads may share it."""

    def __init__(self, folder: Path, card: Card, *, device: str = "auto") -> None:
        self._folder, self._card, self._device = folder, card, device
        self._loaded: Loaded | None = None
        self._kept: OrderedDict[str, dict[str, float]] = OrderedDict()
        self._lock = Lock()

    def warm(self) -> None:
        """Load it meanwhile, in a thread; what goes wrong is heard by who then asks."""
        with suppress(ConfigurationError), self._lock:
            self._ready()

    def shares(self, question: Question) -> Mapping[str, float]:
        """By candidate of the question, how likely it is to be named as the best; they sum to 1. None of
        them where the question is longer than the model reads.

        Raises: ConfigurationError where the model cannot be loaded."""
        prompt = written(question, characters=self._card.characters)
        names = [rate.candidate for rate in question.candidates]
        with self._lock:
            if prompt not in self._kept:
                self._kept[prompt] = self._answer(prompt, names)
                while len(self._kept) > REMEMBERED:
                    self._kept.popitem(last=False)
            return self._kept[prompt]

    def _answer(self, prompt: str, names: Sequence[str]) -> dict[str, float]:
        try:
            scores = name_scores(self._ready(), prompt, names)
        except TooLong:
            return {}
        if not all(map(isfinite, scores)):
            raise ConfigurationError(
                f"The weights of the policy model {self._card.name} are no numbers.", hint=TRAIN_ANEW
            )
        return shares(dict(zip(names, scores, strict=True)), self._card.temperature)

    def _ready(self) -> Loaded:
        if self._loaded is None:
            self._loaded = load_trained(self._folder, self._card, self._device)
        return self._loaded


def shares(scores: Mapping[str, float], temperature: float) -> dict[str, float]:
    """Softmax of scores / temperature. Pure."""
    top = max(scores.values())
    weights = {name: exp((score - top) / temperature) for name, score in scores.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def prompt_tokens(tokenizer: Any, prompt: str) -> list[int]:
    """The question as the model reads it, by its chat template if it has one, and the answer's beginning."""
    text = f"{prompt}\n"
    if getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            tokenize=False,
            enable_thinking=False,
        )
    return list(tokenizer(text + ANSWER, add_special_tokens=False)["input_ids"])


def name_tokens(tokenizer: Any, name: str) -> list[int]:
    """A name and the end of the answer: of two names that begin alike neither is part of the other."""
    return list(tokenizer(name + ENDED, add_special_tokens=False)["input_ids"])


def check_room(loaded: Loaded, tokens: int) -> None:
    """Raises: TooLong."""
    room = getattr(loaded.model.config, "max_position_embeddings", None)
    if room and tokens > room:
        raise TooLong(
            f"A question of {tokens} tokens is longer than the {room} that this language model reads.",
            hint="Use fewer --characters, or another --base.",
        )


def name_scores(loaded: Loaded, prompt: str, names: Sequence[str]) -> list[float]:
    """By name, the mean log-probability of its tokens after the prompt. The model is in evaluation mode.

    Raises: TooLong."""
    import torch

    endings = [name_tokens(loaded.tokenizer, name) for name in names]
    prefix = torch.tensor([prompt_tokens(loaded.tokenizer, prompt)], device=loaded.device)
    longest = max(map(len, endings))
    check_room(loaded, prefix.shape[1] + longest)
    padded = torch.tensor([ids + [0] * (longest - len(ids)) for ids in endings], device=loaded.device)
    decoder, head = loaded.model.get_decoder(), loaded.model.get_output_embeddings()
    with torch.inference_mode():
        first = decoder(input_ids=prefix, use_cache=True)
        named = "cache" if "cache" in signature(decoder.forward).parameters else "past_key_values"
        cache = getattr(first, named, None) or first.past_key_values
        states = first.last_hidden_state[:, -1:].expand(len(names), -1, -1)
        if longest > 1:
            # As beams would be: every kind of layer's cache knows how.
            cache.reorder_cache(torch.zeros(len(names), dtype=torch.long, device=loaded.device))
            # Padding stands behind a name, where nothing that counts sees it.
            rest = decoder(input_ids=padded[:, :-1], use_cache=True, **{named: cache})
            states = torch.cat([states, rest.last_hidden_state], dim=1)
        logs = torch.log_softmax(head(states).float(), dim=-1)
        each = logs.gather(2, padded[:, :, None])[:, :, 0]
    return [float(each[place, : len(ids)].mean()) for place, ids in enumerate(endings)]


# --- loading --------------------------------------------------------------------------------------


def load_trained(folder: Path, card: Card, device: str = "auto") -> Loaded:
    """Base and adapter of a card's folder. Nothing is fetched. Raises: ConfigurationError."""
    libraries()
    from peft import PeftModel

    own = folder / BASE
    base = load_base(str(own) if own.is_dir() else card.base, device=device, download=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the one library about names of the other
            model = PeftModel.from_pretrained(base.model, str(folder / ADAPTER))
        tokenizer = _tokenizer(str(folder / TOKENIZER))
    except Exception as error:  # files read by three libraries: there is no end to what they raise
        raise out_of_memory(error) or ConfigurationError(
            f"The policy model {card.name} cannot be loaded: {_line(error)}", hint=TRAIN_ANEW
        ) from error
    return Loaded(model=model.eval(), tokenizer=tokenizer, device=base.device)


def load_base(base: str, *, device: str, download: bool) -> Loaded:
    """A causal language model by folder, .gguf file or name.

    On a GPU in bfloat16, else in float32. Raises: ConfigurationError."""
    torch, transformers = libraries()
    place = device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    if place.startswith("cuda") and not torch.cuda.is_available():
        raise ConfigurationError("There is no GPU that torch can use.", hint="Use --device cpu.")
    narrow = place.startswith("cuda") and torch.cuda.is_bf16_supported()
    path = Path(base).expanduser()
    more = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    try:
        source = str(path.parent) if more else _folder(base, download=download)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.bfloat16 if narrow else torch.float32, local_files_only=True, **more
        )
        tokenizer = _tokenizer(source, **more)
        return Loaded(model=model.to(place).eval(), tokenizer=tokenizer, device=place)
    except ImportError as error:
        raise ConfigurationError(f"{base} cannot be read: {_line(error)}", hint="pip install gguf") from error
    except Exception as error:  # files read by three libraries: there is no end to what they raise
        fetched = ", and could not be fetched" if download else ""
        raise out_of_memory(error) or ConfigurationError(
            f"The language model {base} is not on this machine, or cannot be read{fetched}: {_line(error)}",
            hint="Name a folder that holds one, or fetch it where there is a network: hf download NAME.",
        ) from error


def out_of_memory(error: Exception) -> ConfigurationError | None:
    """A clear sentence for want of memory; None for any other error. Pure."""
    text = str(error).lower()
    if isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text:
        return ConfigurationError(
            "There is not enough memory for this language model.",
            hint="Use --batch 1, fewer --characters, a smaller --base, or --kind classifier.",
        )
    return None


def _folder(base: str, *, download: bool) -> str:
    """Where a model lies: a folder as it is, a name in the hub's cache, into which it may be fetched.

    transformers itself asks the network for a name, also where it is told not to.

    Raises: OSError, ValueError."""
    path = Path(base).expanduser()
    if path.is_dir():
        return str(path)
    if path.is_absolute():
        raise FileNotFoundError("there is no such folder")
    import huggingface_hub as hub

    try:
        return str(hub.snapshot_download(base, local_files_only=True))
    except OSError:
        if not download:
            raise
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)  # its retries
    try:
        return str(hub.snapshot_download(base, allow_patterns=list(_FILES)))
    except hub.errors.HfHubHTTPError as error:
        raise OSError(str(error)) from error


_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
"""What a model's folder needs to hold."""


def _tokenizer(source: str, **more: Any) -> Any:
    _, transformers = libraries()
    return transformers.AutoTokenizer.from_pretrained(source, local_files_only=True, **more)


def libraries() -> tuple[Any, Any]:
    """torch and transformers, silent. Raises: ConfigurationError where they are not installed."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import peft  # noqa: F401  it is needed as well, and its absence is better known now
        import torch
        import transformers
    except ImportError as error:
        raise ConfigurationError(
            f"Language models need {error.name or 'torch'}, which is not installed.",
            hint="Install torch and acr-cli[local], or train --kind classifier.",
        ) from error
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{text[:200]}..." if len(text) > 200 else f"{text.rstrip('.')}."
