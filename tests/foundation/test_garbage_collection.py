"""The thresholds of the garbage collector around imports, screens and programs."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from dispatchviz.foundation.garbage_collection import (
    BY_CLOCK,
    DUE,
    OBJECTS,
    collect_as_usual,
    collect_at_any_time,
    collect_by_clock,
    collect_if_due,
    collect_rarely,
    collector_waits,
)
from dispatchviz.running.process.interpreter_state import put_back_afterwards

USUAL = (701, 11, 12)


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    collect_at_any_time()
    collect_as_usual()
    gc.unfreeze()
    gc.set_threshold(*before)


def test_thresholds_are_restored_after_a_block() -> None:
    with collector_waits():
        assert gc.get_threshold() == (OBJECTS, *USUAL[1:])
    assert gc.get_threshold() == USUAL


def test_program_has_the_thresholds_from_before_the_command() -> None:
    collect_rarely()
    assert gc.get_threshold() == (OBJECTS, *USUAL[1:])
    with put_back_afterwards():
        assert gc.get_threshold() == USUAL
        assert gc.get_freeze_count()
    assert gc.get_threshold() == USUAL


def test_two_requests_for_few_collections_end_together() -> None:
    collect_rarely()
    collect_rarely()
    collect_as_usual()
    assert gc.get_threshold() == USUAL


def test_nothing_is_exempt_without_a_request() -> None:
    gc.unfreeze()
    collect_as_usual()
    assert not gc.get_freeze_count()


class Ring:
    """An object that only a full collection frees."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_of_a_screen_is_collected_when_it_is_due() -> None:
    collect_by_clock()
    assert gc.get_threshold() == BY_CLOCK
    gc.set_threshold(0)
    ring = Ring()
    for _ in range(DUE):
        gc.collect(1)  # the ring is an old object now
    gone = weakref.ref(ring)
    del ring
    gc.collect(1)
    assert gone() is not None
    collect_if_due()
    assert gone() is None


def test_garbage_of_exempt_objects_is_collected_once_the_reader_is_idle() -> None:
    collect_by_clock()
    gc.set_threshold(0)
    ring = Ring()
    for _ in range(DUE):
        gc.collect(1)
    collect_if_due()
    gone = weakref.ref(ring)
    del ring
    collect_if_due()
    gc.collect()
    assert gone() is not None
    collect_if_due(idle=True)
    assert gone() is None


def test_collections_are_as_before_after_a_screen() -> None:
    collect_by_clock()
    collect_by_clock()
    assert gc.get_freeze_count()
    collect_at_any_time()
    assert gc.get_threshold() == USUAL
    assert not gc.get_freeze_count()


def test_a_program_without_collections_keeps_none() -> None:
    gc.set_threshold(0)
    collect_by_clock()
    assert gc.get_threshold()[0] == 0
