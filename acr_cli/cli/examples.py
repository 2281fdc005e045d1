"""What the help of each command ends with: one to three lines that can be typed as they are."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "fix": (
        "acr fix",
        'acr fix "parse_date drops the time zone" --max-cost 0.50',
        "acr fix --issue issue.md --allow openai/gpt-5.6 --dry-run",
    ),
    "chat": ("acr chat", "acr chat --approve edits --max-cost 0.50"),
    "apply": ("acr apply", "acr apply 20260102-1504 --yes"),
    "undo": ("acr undo", "acr undo 20260102-1504"),
    "route": ('acr route "parse_date drops the time zone" --explain',),
    "memory stats": ("acr memory stats", "acr memory stats --dimension bug_fixing --since 2026-01-31"),
    "memory list": ("acr memory list -n 50 --verdict failed", "acr memory list --dimension bug_fixing"),
    "memory show": ("acr memory show 3f2a9c",),
    "memory forget": (
        "acr memory forget --model openai/gpt-5.6 --before 2026-01-31",
        "acr memory forget --repository . --yes",
    ),
    "bench replay": (
        "acr bench replay --matrix outcomes.csv --stream test --warm train -o test.json",
        "acr bench replay --matrix outcomes.csv --attempts 3 --policy acrouter,cascade",
    ),
    "bench compare": ("acr bench compare before.json after.json",),
    "bench figure": ("acr bench figure test.json -o test.svg",),
    "train policy": (
        "acr train policy --matrix outcomes.csv --tasks tasks.jsonl",
        "acr train policy --memory --name mine",
        "acr train policy --kind lora --base Qwen/Qwen3.5-0.8B --memory",
    ),
    "memory export": (
        "acr memory export outcomes.parquet",
        "acr memory export - --since 2026-01-31 > outcomes.jsonl",
    ),
    "memory import": ("acr memory import outcomes.parquet",),
    "memory reindex": ("acr memory reindex",),
    "memory sync": ("acr memory sync",),
    "memory report": ("acr memory report -o report.html",),
    "models list": ("acr models list", "acr models list --known claude"),
    "models add": (
        "acr models add anthropic/claude-opus-4-6 --effort low,high",
        "acr models add openai/my-model --base-url http://localhost:8080/v1 --price 0,0",
    ),
    "models remove": ("acr models remove openai/my-model", "acr models remove openai"),
    "models test": ("acr models test", "acr models test openai/my-model"),
    "warm": ("acr warm --dry-run", "acr warm --max-cost 2 --commits 200"),
    "runs list": ("acr runs list", "acr runs list --all -n 100"),
    "runs show": ("acr runs show 20260102-1504", "acr runs show 20260102-1504 --json"),
    "runs resume": ("acr runs resume 20260102-1504 --max-cost 2",),
    "runs replay": ("acr runs replay 20260102-1504",),
    "config show": ("acr config show", "acr config show --origin"),
    "config path": ("acr config path",),
    "config set": (
        "acr config set max_cost 0.50",
        "acr config set sandbox docker",
        "acr config set --project allow 'openai/*'",
    ),
    "config get": ("acr config get max_cost", "acr config get sandbox --origin"),
    "config unset": ("acr config unset max_cost",),
    "config init": ("acr config init", "acr config init --yes"),
    "cache list": ("acr cache list", "acr cache list --json"),
    "cache prune": ("acr cache prune --older-than 7d", "acr cache prune --all --yes"),
    "doctor": ("acr doctor", "acr doctor --online", "acr doctor --fix"),
    "completion": (
        "acr completion bash > ~/.local/share/bash-completion/completions/acr",
        "acr completion fish > ~/.config/fish/completions/acr.fish",
    ),
}
"""Words after `acr` -> lines. Every command has some; tests parse them all."""


def epilog(command_path: str) -> str:
    """The end of a command's help; "" where there is no example. Pure."""
    lines = EXAMPLES.get(command_path.partition(" ")[2], ())
    title = "Example" if len(lines) == 1 else "Examples"
    return "\n".join([f"{title}:", *(f"  {line}" for line in lines)]) + "\n" if lines else ""
