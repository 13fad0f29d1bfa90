"""The property that is computed once for each object, and that other threads need not wait for."""

from __future__ import annotations

import threading

from dispatchviz.foundation.unlocked_property import cached_property
from tests.waiting import HANGS


class Doubled:
    def __init__(self, number: int, other: Doubled | None = None) -> None:
        self.number, self.other, self.computed = number, other, 0

    @cached_property
    def twice(self) -> int:
        """Twice the number; for this, an object with another one asks it in another thread."""
        self.computed += 1
        if self.other is not None:
            asks = threading.Thread(target=lambda: self.other.twice, daemon=True)  # type: ignore[union-attr]
            asks.start()
            asks.join(HANGS)
            assert not asks.is_alive()
        return 2 * self.number


def test_value_is_computed_once() -> None:
    doubled = Doubled(4)
    assert (doubled.twice, doubled.twice, doubled.computed) == (8, 8, 1)
    assert vars(doubled)["twice"] == 8
    assert isinstance(Doubled.twice, cached_property)


def test_another_thread_computes_it_meanwhile_for_another_object() -> None:
    other = Doubled(1)
    assert Doubled(2, other).twice == 4
    assert other.computed == 1
