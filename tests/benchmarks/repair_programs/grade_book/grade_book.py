"""Marks of a class: weighted means, letters, a report."""

from collections.abc import Sequence
from dataclasses import dataclass, field

LETTERS = ((90, "A"), (80, "B"), (70, "C"), (60, "D"), (0, "F"))


@dataclass(frozen=True)
class Mark:
    points: float
    weight: float = 1.0


def median(values: Sequence[float]) -> float:
    """The middle value, 0 when there is none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def weighted_mean(marks: Sequence[Mark]) -> float:
    """The mean by weight, 0 when there is no mark."""
    total = sum(mark.weight for mark in marks)
    return sum(mark.points * mark.weight for mark in marks) / total


def letter(points: float) -> str:
    for least, name in LETTERS:
        if points >= least:
            return name
    raise ValueError(f"points are not negative: {points}")


@dataclass
class GradeBook:
    marks: dict[str, list[Mark]] = field(default_factory=dict)

    def enrol(self, student: str) -> None:
        self.marks.setdefault(student, [])

    def add(self, student: str, points: float, weight: float = 1.0) -> None:
        if weight <= 0:
            raise ValueError("weight must be positive")
        self.enrol(student)
        self.marks[student].append(Mark(points, weight))

    def means(self) -> dict[str, float]:
        return {student: weighted_mean(marks) for student, marks in self.marks.items()}

    def report(self) -> list[str]:
        """One line a student, best first, equal ones by name."""
        ranked = sorted(self.means().items(), key=lambda pair: (-pair[1], pair[0]))
        return [f"{student}: {mean:.1f} {letter(mean)}" for student, mean in ranked]

    def class_median(self) -> float:
        return median(list(self.means().values()))
