"""The line search of LBFGS by the strong Wolfe conditions (``torch/optim/lbfgs.py``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dispatchviz.torch._namespace import torch

_ENOUGH, _FLAT = 1e-4, 0.9
"""The required decrease of the loss, and the required decrease of the slope."""


class Point(NamedTuple):
    """A step along the direction: its length, the loss and gradient there, and the slope."""

    t: Any
    f: Any
    g: Any
    gtd: Any

    def copied(self) -> Point:
        """Return the point with a copy of its gradient."""
        return self._replace(g=self.g.clone(memory_format=torch.contiguous_format))


Objective = Callable[[Any], tuple[Any, Any]]


def cubic_interpolate(one: Point, other: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Return the minimum of the cubic through both points and slopes, within bounds."""
    if bounds is None:
        bounds = (one.t, other.t) if one.t <= other.t else (other.t, one.t)
    lowest, highest = bounds
    d1 = one.gtd + other.gtd - 3 * (one.f - other.f) / (one.t - other.t)
    square = d1**2 - one.gtd * other.gtd
    if not square >= 0:
        return (lowest + highest) / 2.0
    d2 = square.sqrt()
    if one.t <= other.t:
        minimum = other.t - (other.t - one.t) * ((other.gtd + d2 - d1) / (other.gtd - one.gtd + 2 * d2))
    else:
        minimum = one.t - (one.t - other.t) * ((one.gtd + d2 - d1) / (one.gtd - other.gtd + 2 * d2))
    return min(max(minimum, lowest), highest)


@dataclass
class StrongWolfe:
    """A search from a point along a direction; ``evaluate`` returns loss and gradient for a step length."""

    evaluate: Objective
    direction: Any
    start: Point
    tolerance_change: float = 1e-9
    max_ls: int = 25

    evaluations: int = 0
    iterations: int = 0
    done: bool = False

    def run(self, t: Any) -> Point:
        """Return the point found; the first attempt has the step length ``t``."""
        self.width = self.direction.abs().max()
        self.start = self.start.copied()
        bracket = self._bracket(t)
        return self._zoom(bracket)

    def _at(self, t: Any) -> Point:
        loss, gradient = self.evaluate(t)
        self.evaluations += 1
        return Point(t, loss, gradient, gradient.dot(self.direction))

    def _too_high(self, point: Point) -> Any:
        return point.f > self.start.f + _ENOUGH * point.t * self.start.gtd

    def _flat_enough(self, point: Point) -> Any:
        return abs(point.gtd) <= -_FLAT * self.start.gtd

    def _bracket(self, t: Any) -> list[Point]:
        """Return two points with a good one between them, or one good point."""
        previous, new = self.start._replace(t=0), self._at(t)
        while self.iterations < self.max_ls:
            if self._too_high(new) or (self.iterations > 1 and new.f >= previous.f):
                return [previous, new.copied()]
            if self._flat_enough(new):
                self.done = True
                return [new]
            if new.gtd >= 0:
                return [previous, new.copied()]
            bounds = new.t + 0.01 * (new.t - previous.t), new.t * 10
            t = cubic_interpolate(previous, new, bounds)
            previous, new = new.copied(), self._at(t)
            self.iterations += 1
        return [self.start._replace(t=0), new]

    def _zoom(self, bracket: list[Point]) -> Point:
        stuck = False
        low, high = (0, 1) if bracket[0].f <= bracket[-1].f else (1, 0)
        while not self.done and self.iterations < self.max_ls:
            if abs(bracket[1].t - bracket[0].t) * self.width < self.tolerance_change:
                break
            t, stuck = self._between(bracket, stuck)
            new = self._at(t)
            self.iterations += 1
            if self._too_high(new) or new.f >= bracket[low].f:
                bracket[high] = new.copied()
                low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
                continue
            if self._flat_enough(new):
                self.done = True
            elif new.gtd * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = new.copied()
        return bracket[low]

    def _between(self, bracket: list[Point], stuck: bool) -> tuple[Any, bool]:
        """Return the next step size, kept away from the ends if the previous one was near an end too."""
        first, second = bracket
        t = cubic_interpolate(first, second)
        ends = first.t, second.t
        margin = 0.1 * (max(ends) - min(ends))
        if not min(max(ends) - t, t - min(ends)) < margin:
            return t, False
        if not (stuck or t >= max(ends) or t <= min(ends)):
            return t, True
        if abs(t - max(ends)) < abs(t - min(ends)):
            return max(ends) - margin, False
        return min(ends) + margin, False
