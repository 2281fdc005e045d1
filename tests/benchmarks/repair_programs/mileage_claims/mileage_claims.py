"""Travel claims: kilometres driven, paid by a rate that falls with the distance of the month."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

FULL_RATE = 0.40
REDUCED_RATE = 0.25
FULL_RATE_KM = 1_000


@dataclass(frozen=True)
class Trip:
    day: date
    start_km: float
    end_km: float
    passengers: int = 0

    @property
    def kilometres(self) -> float:
        """The distance, to a tenth as the meter shows it."""
        if self.end_km < self.start_km:
            raise ValueError(f"the meter runs backwards on {self.day}")
        return round(int(self.end_km - self.start_km), 1)


def pay(kilometres: float) -> float:
    """Euros for the kilometres of one month."""
    full = min(kilometres, FULL_RATE_KM)
    reduced = kilometres - full
    return round(full * FULL_RATE + reduced * REDUCED_RATE, 2)


def passenger_bonus(trip: Trip) -> float:
    return round(trip.kilometres * trip.passengers * 0.02, 2)


def monthly(trips: Iterable[Trip]) -> dict[str, float]:
    """Kilometres by month, such as `2024-03`."""
    totals: dict[str, float] = defaultdict(float)
    for trip in trips:
        totals[f"{trip.day:%Y-%m}"] += trip.kilometres
    return {month: round(total, 1) for month, total in sorted(totals.items())}


def claim(trips: Iterable[Trip]) -> float:
    """All that is paid for the trips, bonuses included."""
    listed = list(trips)
    distance = sum(pay(kilometres) for kilometres in monthly(listed).values())
    return round(distance + sum(passenger_bonus(trip) for trip in listed), 2)
