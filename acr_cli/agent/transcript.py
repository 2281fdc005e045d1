"""What was said in one attempt, kept as JSON lines without secrets while it is said."""

from __future__ import annotations

import json
import re
from pathlib import Path

from acr_cli.protocols import Message, Reply
from acr_cli.records import Candidate, Step
from acr_cli.redaction import redacted


class Transcript:
    """One file an attempt: a message a line, replies with tokens and cost. Without a folder it keeps none."""

    def __init__(self, folder: Path | None, step: Step, candidate: Candidate) -> None:
        self._path: Path | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"[^\w.@-]+", "_", f"{step.id}-{candidate.id}")
            number = 1 + sum(1 for _ in folder.glob(f"{name}-*.jsonl"))
            self._path = folder / f"{name}-{number}.jsonl"

    def said(self, message: Message, reply: Reply | None = None) -> None:
        """Append one message; for a model's own, with what it cost."""
        line: dict[str, object] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            line["tool_calls"] = [
                {"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_calls
            ]
        if message.tool_call_id:
            line["tool_call_id"] = message.tool_call_id
        if reply is not None:
            line |= {
                "input_tokens": reply.usage.input_tokens,
                "cached_tokens": reply.usage.cached_tokens,
                "output_tokens": reply.usage.output_tokens,
                "cost_usd": reply.cost_usd,
                "seconds": reply.seconds,
                "finish": reply.finish,
            }
        self._append(line)

    def ended(self, summary: str, void: str) -> None:
        """Append how the attempt ended."""
        self._append({"role": "end", "content": summary, "void": void})

    def _append(self, line: dict[str, object]) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(json.dumps(redacted(line), ensure_ascii=False) + "\n")
