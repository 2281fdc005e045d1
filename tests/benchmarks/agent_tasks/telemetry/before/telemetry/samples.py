"""Samples of one series."""

from telemetry.statistics import percentile


class Series:
    def __init__(self, name, unit=""):
        self.name = name
        self.unit = unit
        self._values = []

    def record(self, value):
        self._values.append(float(value))

    def extend(self, values):
        for value in values:
            self.record(value)

    @property
    def values(self):
        """The samples, as they came."""
        return tuple(self._values)

    def median(self):
        return percentile(self._values, 50)

    def summary(self):
        """Name and the usual percentiles, for a log."""
        points = " ".join(f"p{p}={percentile(self._values, p):g}{self.unit}" for p in (50, 90, 99))
        return f"{self.name}: {points}"
