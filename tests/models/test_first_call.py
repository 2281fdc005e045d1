"""The first call of a process: what it needs is there before; what only reports of litellm need is not."""

from __future__ import annotations

import json
import subprocess
import sys

from acr_cli.testing.answers import Say
from acr_cli.testing.loopback import LoopbackServer

CALL = """
import json, sys, time
from acr_cli.agent.budget import RunBudget
from acr_cli.models.gateway import LiteLLM, warm
from acr_cli.protocols import Message
from acr_cli.records import Candidate, Price

warm()
before = {name for name in sys.modules if name.startswith("litellm")}
some = Candidate(
    id="one", model="openai/gpt-4o", backend="agent", base_url=sys.argv[1], price=Price(input=1.0, output=1.0)
)
gateway = LiteLLM(emit=lambda _: None, environ={})
asked = [Message(role="user", content="Say hello.")]
budget = RunBudget(max_cost=1.0, max_steps=9, max_time=60.0, clock=time.monotonic)
reply = gateway.complete(some, asked, tools=(), budget=budget)
import tiktoken.registry
print(json.dumps({
    "said": reply.content,
    "imported": len({name for name in sys.modules if name.startswith("litellm")} - before),
    "vocabularies": sorted(tiktoken.registry.ENCODINGS),
}))
"""


def test_the_first_call_imports_hardly_anything_and_no_vocabulary_is_read() -> None:
    with LoopbackServer({"gpt-4o": [Say(text="Hello.")]}) as server:
        done = subprocess.run(
            [sys.executable, "-c", CALL, server.base_url], capture_output=True, text=True, check=True
        )
    found = json.loads(done.stdout)
    assert found["said"] == "Hello."
    assert found["imported"] < 20, "a cold first call imports a hundred modules"
    assert found["vocabularies"] == []
