"""The caps of a run: money, steps and time; hard, and checked before every call."""

from __future__ import annotations

import math
from collections.abc import Callable
from threading import Lock

from acr_cli.agent.ledger import Ledger
from acr_cli.errors import BudgetExhausted, Cancelled
from acr_cli.protocols import Budget


class RunBudget:
    """A `Budget`. Money in USD, time in seconds; `math.inf` is no cap. `clock` gives monotonic seconds.

    `ledger` is what all runs together have spent, and may: its caps bind beside those of the run.
    A call that costs nothing (a model on this machine) is never refused for money, also with a cap of 0.
    """

    def __init__(
        self,
        *,
        max_cost: float,
        max_steps: int,
        max_time: float,
        clock: Callable[[], float],
        ledger: Ledger | None = None,
    ) -> None:
        self._ledger = ledger
        self.max_cost = max_cost
        self.max_steps = max_steps
        self.max_time = max_time
        self._clock = clock
        self._started = clock()
        self._spent = 0.0
        self._steps = 0
        self._held: dict[object, float] = {}  # by who is about to spend it beside others
        self._lock = Lock()

    @property
    def spent_usd(self) -> float:
        return self._spent

    @property
    def remaining_usd(self) -> float:
        others = self._ledger.remaining() if self._ledger is not None else math.inf
        return max(0.0, min(self.max_cost - self._spent, others))

    @property
    def remaining_seconds(self) -> float:
        return max(0.0, self.max_time - (self._clock() - self._started))

    def check(self) -> None:
        if self.remaining_seconds <= 0:
            raise BudgetExhausted(
                f"The time of this run, {_duration(self.max_time)}, is used up.", hint="Raise --max-time."
            )
        if self._spent > self.max_cost:
            raise self._no_money(f"${self._spent:.4f} of ${self.max_cost:g} are spent.")

    def affords(self, usd: float | None) -> None:
        if usd is None:
            if math.isfinite(self.max_cost):
                raise BudgetExhausted(
                    f"The model has no known price, and this run may cost at most ${self.max_cost:g}.",
                    hint="Give it a price in config.toml, or lift the cap with --max-cost inf.",
                )
            if self._ledger is not None and self._ledger.capped:
                raise BudgetExhausted(
                    "The model has no known price, and a day or a month has a cap on cost.",
                    hint="Give it a price in config.toml, or unset max_cost_day and max_cost_month.",
                )
            return
        left = max(0.0, self.max_cost - self._spent)
        if usd > 0 and usd > left:
            raise self._no_money(
                f"The next call may cost ${usd:.4f}; ${left:.4f} of ${self.max_cost:g} is left."
            )
        if usd > 0 and self._ledger is not None:
            self._ledger.check(usd)

    def reserve(self, usd: float) -> None:
        if usd > 0 and self._ledger is not None:
            self._ledger.reserve(usd)

    def charge(self, usd: float) -> None:
        with self._lock:
            self._spent += usd
        if self._ledger is not None:
            self._ledger.settle(usd)

    def hold(self, who: object, usd: float | None) -> None:
        """As `affords`, where several spend at the same time: the amount is kept for `who` until `let_go`."""
        self.affords(usd)
        with self._lock:
            others = sum(held for each, held in self._held.items() if each is not who)
            if usd and usd > self.max_cost - self._spent - others:
                raise self._no_money(f"The next call may cost ${usd:.4f}; what is left others are spending.")
            self._held[who] = usd or 0.0

    def let_go(self, who: object) -> float:
        """What was kept, in USD."""
        with self._lock:
            return self._held.pop(who, 0.0)

    def remaining_for(self, who: object) -> float:
        """USD, without what is kept for others; the ledger knows of those by itself."""
        with self._lock:
            others = sum(held for each, held in self._held.items() if each is not who)
        return max(0.0, min(self.max_cost - self._spent - others, self.remaining_usd))

    def correct(self, counted: float, usd: float) -> None:
        """A call of this thread that was `counted` before its end has cost `usd`."""
        with self._lock:
            self._spent += usd - counted
        if self._ledger is not None:
            self._ledger.settle(usd)

    def count_step(self) -> None:
        if self._steps >= self.max_steps:
            steps = "1 step" if self.max_steps == 1 else f"{self.max_steps} steps"
            raise BudgetExhausted(f"This run may take {steps}.", hint="Raise --max-steps.")
        self._steps += 1

    @staticmethod
    def _no_money(message: str) -> BudgetExhausted:
        return BudgetExhausted(message, hint="Raise --max-cost, or allow a cheaper model.")


def _duration(seconds: float) -> str:
    """ "90 s", "15 min", "2 h". Pure."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


class Shared:
    """A `Budget` of one attempt beside others: what each is about to spend is kept for it. Once `stopped`,
    every check raises Cancelled."""

    def __init__(self, budget: RunBudget, stopped: Callable[[], bool]) -> None:
        self._budget = budget
        self._stopped = stopped
        self._counted: float | None = None  # USD, of the call that was under way when this was left

    @property
    def spent_usd(self) -> float:
        return self._budget.spent_usd

    @property
    def remaining_usd(self) -> float:
        return self._budget.remaining_for(self)

    @property
    def remaining_seconds(self) -> float:
        return self._budget.remaining_seconds

    def check(self) -> None:
        if self._stopped():
            raise Cancelled("The attempt is not needed any more.")
        self._budget.check()

    def affords(self, usd: float | None) -> None:
        self.check()
        self._budget.hold(self, usd)

    def reserve(self, usd: float) -> None:
        self._budget.hold(self, usd)
        self._budget.reserve(usd)

    def charge(self, usd: float) -> None:
        held = self._budget.let_go(self)
        if self._counted is None or held:
            self._budget.charge(usd)
        else:
            self._budget.correct(self._counted, usd)
            self._counted = 0.0

    def let_go(self) -> None:
        """Nothing more is spent."""
        self._budget.let_go(self)

    def leave(self) -> None:
        """Count the most that a call under way may cost, until it ends and says what it did cost."""
        self._counted = self._budget.let_go(self)
        self._budget.charge(self._counted)

    def count_step(self) -> None:
        self._budget.count_step()


class Metered:
    """A `Budget` that passes everything on to another and knows what went through itself."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.charged = 0.0

    @property
    def spent_usd(self) -> float:
        return self._budget.spent_usd

    @property
    def remaining_usd(self) -> float:
        return self._budget.remaining_usd

    @property
    def remaining_seconds(self) -> float:
        return self._budget.remaining_seconds

    def check(self) -> None:
        self._budget.check()

    def affords(self, usd: float | None) -> None:
        self._budget.affords(usd)

    def reserve(self, usd: float) -> None:
        self._budget.reserve(usd)

    def charge(self, usd: float) -> None:
        self.charged += usd
        self._budget.charge(usd)

    def count_step(self) -> None:
        self._budget.count_step()
