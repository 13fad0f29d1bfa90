"""No exception from outside is lost in calls from C that ignores exceptions."""

from __future__ import annotations

import copy
import ctypes
import operator
import pickle
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.seam.deletion import Deletion, deletion
from dispatchviz.live.running_hooks import WatchedHook


class _OwnError(Exception):
    """An error of the program."""


def _raises(number: int, frame: object) -> None:
    raise _OwnError


@pytest.fixture
def arrives() -> Iterator[Callable[[], object]]:
    """Yield a function that makes a signal arrive, which no Python instruction handles before the next one."""
    before = signal.signal(signal.SIGUSR1, _raises)
    yield partial(ctypes.CDLL(None)["raise"], signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


class _Thing:
    __slots__ = ("__del__",)
    __del__: Deletion

    def __init__(self, function: Callable[[], object]) -> None:
        self.__del__ = function


def _in_c(*functions: Callable[[], object]) -> list[object]:
    """Return the results of the functions. No Python instruction comes between the calls."""
    return list(map(operator.call, functions))


def test_exception_during_a_deletion_is_raised_at_the_next_call(
    arrives: Callable[[], object],
) -> None:
    done: list[bool] = []
    things = [_Thing(deletion(lambda: done.append(True)))]
    with dispatchviz.record():
        x = torch.ones(2)
        _in_c(arrives, things.clear)
        with pytest.raises(_OwnError):
            x.add(1)
        x.add(1)
    assert not done


def test_deletion_calls_the_function_once() -> None:
    done: list[bool] = []
    thing = _Thing(deletion(lambda: done.append(True)))
    assert not done
    del thing
    assert done == [True]


def test_no_deletion_calls_nothing() -> None:
    done: list[bool] = []
    thing = _Thing(deletion(lambda: done.append(True)))
    thing.__del__ = int
    del thing
    assert not done


def _hook(grad: Any) -> Any:
    return grad


def _watched() -> Any:
    return WatchedHook(_hook, None, None)  # type: ignore[arg-type]


def test_exception_while_reading_a_hooks_name_is_raised(arrives: Callable[[], object]) -> None:
    has_name = partial(ctypes.pythonapi.PyObject_HasAttrString, ctypes.py_object(_watched()), b"__name__")
    with pytest.raises(_OwnError):
        _in_c(arrives, has_name)
    assert has_name()


def test_a_watched_hook_is_copied_and_pickled_as_its_hook() -> None:
    assert _watched().__name__ == "_hook"
    assert copy.copy(_watched()) is copy.deepcopy(_watched()) is pickle.loads(pickle.dumps(_watched())) is _hook
