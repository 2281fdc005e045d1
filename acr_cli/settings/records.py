"""What can be set, with its default."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acr_cli.records import Price


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelEntry:
    """One `[[model]]` of the user's config: a model at an endpoint, at one or more reasoning efforts."""

    id: str  # litellm's name
    family: str = ""
    base_url: str | None = None
    api_key_env: str | None = None
    price: Price | None = None
    effort: tuple[str, ...] = ()
    edit: str = "auto"
    tools: bool | None = None
    context_window: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Every setting with its default. Durations in seconds, money in USD, sizes in bytes."""

    home: Path  # ~/.acr, or ACR_HOME
    models: tuple[ModelEntry, ...] = ()
    providers: tuple[str, ...] = ()  # accepted providers found by their keys

    policy: str = "learned"
    exploration: float = 0.05
    value_of_success: float = 1.0  # USD
    value_of_hour: float = 1.8  # USD
    seed: int | None = None
    allow: tuple[str, ...] = ()  # empty: all
    exclude: tuple[str, ...] = ()
    model: str | None = None

    max_cost: float = 1.0
    max_cost_day: float = float("inf")  # all runs together, as long as their home is the same
    max_cost_month: float = float("inf")
    max_steps: int = 20
    max_time: float = 900.0
    attempts: int = 3

    sandbox: str = "auto"
    image: str | None = None
    dockerfile: bool = False
    network: str = "none"
    memory_limit: int = 2 * 1024**3
    disk_limit: int = 4 * 1024**3
    pids: int = 512
    test_timeout: float = 600.0
    verify_time: float = 1800.0  # for all runs of the tests behind one verdict
    repair_time: float = 90.0  # for one search of builtin/repair
    test: str | None = None
    setup: str | None = None
    copy_ignored: tuple[str, ...] = ()
    own_tests: bool = True  # write a failing test first where no test covers the task
    judge: bool = True  # ask a second model about a change that nothing executed can show
    parallel: int = 1  # attempts at a step side by side

    policy_models: tuple[str, ...] = ()  # trained ones that vote, by name
    router: str | None = None  # a model of the pool that is asked whom to choose
    router_prompt: str = "statistics"  # "zero-shot" | "few-shot" | "statistics"

    voters: tuple[str, ...] = ()  # installed parts besides the built-in ones, by name
    toolchains: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()

    memory_bound: int = 20_000
    store_text: bool = True
    half_life_days: float = 180.0  # of an outcome in memory; 0: nothing is forgotten by age
    memory_url: str | None = None  # of a Chroma server; None: memory is not shared
    memory_token_env: str = "CHROMA_TOKEN"  # noqa: S105  the name of a variable
    memory_tenant: str = "default_tenant"
    memory_database: str = "default_database"
    embedder: str = "minilm"  # "minilm" | "sentence-transformers:MODEL"

    approve: str = "auto"  # what the user is asked about: nothing; "edits", the patch; "all", commands too
    allow_path: tuple[str, ...] = ()  # patterns of files run unasked that a patch may change unasked
    commit: bool = False
    dry_run: bool = False
    plan_only: bool = False
    yes: bool = False

    origins: dict[str, str] = field(default_factory=dict)  # key -> where its value comes from

    @property
    def cost_cap(self) -> float:
        """USD that no call may pass by any cap; `inf` without one."""
        return min(self.max_cost, self.max_cost_day, self.max_cost_month)

    @property
    def time_price(self) -> float:
        """USD a second of waiting."""
        return self.value_of_hour / 3600
