"""A thermostat with a schedule, limits and hysteresis."""

from dataclasses import dataclass, field

from limits import clamp, in_band


@dataclass
class Thermostat:
    low: float = 5.0
    high: float = 30.0
    hysteresis: float = 1.0
    target: float = 20.0
    heating: bool = False
    schedule: dict[int, float] = field(default_factory=dict)

    def set_target(self, celsius: float) -> float:
        """Set the target, kept within the limits; the target that now holds."""
        self.target = clamp(self.low, celsius, self.high)
        return self.target

    def nudge(self, steps: int) -> float:
        """Half a degree a step, up or down."""
        return self.set_target(self.target + steps * 0.5)

    def plan(self, hour: int, celsius: float) -> None:
        if not 0 <= hour < 24:
            raise ValueError(f"no such hour: {hour}")
        self.schedule[hour] = celsius

    def tick(self, hour: int, measured: float) -> bool:
        """Follow the schedule, then switch the heating; whether it is on."""
        if hour in self.schedule:
            self.set_target(self.schedule[hour])
        if not in_band(measured, self.target, self.hysteresis):
            self.heating = measured < self.target
        return self.heating
