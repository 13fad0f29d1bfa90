"""Exceptions that come from outside while a recorder works belong to the program; its own mistakes do not."""

from __future__ import annotations

import ctypes
import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dispatchviz
import dispatchviz.torch as torch
from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.native.views import view_ops
from dispatchviz.core.record.recorders.tensor_recorder import TensorRecorder
from dispatchviz.core.record.worker import Worker
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside, own_errors_suppressed
from dispatchviz.core.tensor import tensor as tensor_module
from tests.amounts import THOROUGH, amount
from tests.waiting import HANGS

PROGRAM = Path(__file__).parent / "raised.py"
ENGINES = pytest.mark.parametrize("engine", ["model", pytest.param("torch", marks=pytest.mark.torch)])


@pytest.fixture
def handled() -> Iterator[Callable[[Callable[..., None]], None]]:
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda handler: (signal.signal(signal.SIGUSR1, handler), None)[1]
    signal.signal(signal.SIGUSR1, before)


def _ours() -> None:
    signal.raise_signal(signal.SIGUSR1)


def _with_frame(number: int, frame: object) -> None:
    raise RuntimeError("handler")


def _with_any(*given: object) -> None:
    raise RuntimeError("handler")


def _that_forgets(number: int, frame: object) -> None:
    del number, frame
    raise RuntimeError("handler")


class _Object:
    def __call__(self, number: int, frame: object) -> None:
        raise RuntimeError("handler")

    def method(self, number: int, frame: object) -> None:
        raise RuntimeError("handler")


HANDLERS = (_with_frame, _with_any, _that_forgets, _Object(), _Object().method, partial(_with_frame))


@pytest.mark.parametrize("handler", HANDLERS)
def test_error_of_a_handler_is_from_outside(handler: Callable[..., None], handled: Callable[..., None]) -> None:
    handled(handler)
    with pytest.raises(RuntimeError) as caught:
        _ours()
    assert is_from_outside(caught.value)
    with pytest.raises(RuntimeError, match="handler"), own_errors_suppressed(RuntimeError):
        _ours()


def _raise_here() -> None:
    raise KeyError


def _assert_here() -> None:
    empty: list[int] = []
    assert empty


MISTAKES: tuple[Callable[[], object], ...] = (
    _raise_here,
    _assert_here,
    lambda: [][0],  # type: ignore[misc]
    lambda: {}["a"],  # type: ignore[misc]
    lambda: None.there,  # type: ignore[attr-defined]
    lambda: next(iter(())),
    lambda: torch.ones(2) @ torch.ones(3),
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_of_ours_is_not_from_outside(mistake: Callable[[], object]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        mistake()
    assert not is_from_outside(caught.value)


def test_memory_error_is_from_outside() -> None:
    assert is_from_outside(MemoryError())


class _TooLateError(Exception):
    pass


def test_exception_set_by_another_thread_is_from_outside() -> None:
    found: list[BaseException] = []
    ready = threading.Event()

    def run() -> None:
        try:
            ready.set()
            while True:
                len(found)
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(HANGS)
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_TooLateError))
    thread.join(HANGS)
    assert isinstance(found[0], _TooLateError)
    assert is_from_outside(found[0])


def test_the_program_gets_it_and_the_recording_goes_on(
    monkeypatch: pytest.MonkeyPatch, handled: Callable[..., None]
) -> None:
    handled(_with_frame)
    original = TensorRecorder.__dict__["version_bumped"]

    def interrupted(self: object, *args: object) -> None:
        monkeypatch.setattr(TensorRecorder, "version_bumped", original)
        with_net = recorder.active
        assert with_net is not None
        with_net._failed(_raised_by_signal(), original, *args)

    monkeypatch.setattr(TensorRecorder, "version_bumped", interrupted)
    with dispatchviz.record() as trace:
        x = torch.ones(2)
        with pytest.raises(RuntimeError, match="handler"):
            x.add_(1)
        x.add_(2)
    assert trace.notice == ""


INTERRUPTED: tuple[tuple[type[Exception], Callable[..., Any], Callable[[], Any]], ...] = (
    (AttributeError, vars(torch.Tensor)["grad"].fget, lambda: torch.ones(2).grad),
    (ValueError, tensor_module.strided, lambda: torch.empty_strided((2, 2), (5, 1))),
    (RuntimeError, variable.grad_fn, lambda: str(torch.ones(2))),
    (RuntimeError, view_ops.infer_size, lambda: torch.ones(4).unflatten(0, (2, 2))),
)
"""The error that a handler raises, the function of the model in which it does, and a program that calls this
function.
"""


@pytest.mark.parametrize(("kind", "function", "program"), INTERRUPTED)
def test_the_model_takes_it_for_no_error_of_its_own(
    kind: type[Exception],
    function: Callable[..., Any],
    program: Callable[[], Any],
    handled: Callable[[Callable[..., None]], None],
) -> None:
    program()
    raised: list[Exception] = []

    def handler(number: int, frame: object) -> None:
        sys.setprofile(None)
        raised.append(kind("handler"))
        raise raised[0]

    def begun(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code is function.__code__:
            signal.raise_signal(signal.SIGUSR1)

    handled(handler)
    sys.setprofile(begun)
    try:
        with pytest.raises(kind) as caught:
            program()
    finally:
        sys.setprofile(None)
    assert raised
    assert caught.value is raised[0]


def _raised_by_signal() -> Exception:
    try:
        signal.raise_signal(signal.SIGUSR1)
    except RuntimeError as error:
        return error
    raise AssertionError


def _none_is_swallowed(engine: str, how: str, tmp_path: Path, count: int) -> None:
    command = [sys.executable, "-m", "dispatchviz", "trace", "--engine", engine, "-o", str(tmp_path / "log.jsonl")]
    command += ["--format", "jsonl", str(PROGRAM), how, str(count), "1"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=HANGS)
    assert ended.returncode == 0, ended.stderr
    assert f"{count} {how} 0 swallowed\n" in ended.stdout
    assert "the recording ended" not in ended.stdout + ended.stderr


@pytest.mark.long
@ENGINES
@pytest.mark.parametrize("how", ["handlers", "thread"])
def test_exceptions_at_random_moments_are_not_swallowed(how: str, engine: str, tmp_path: Path) -> None:
    _none_is_swallowed(engine, how, tmp_path, amount(20, 1000))


@pytest.mark.long
@pytest.mark.skipif(not THOROUGH, reason="takes minutes")
@ENGINES
def test_exceptions_at_the_beginning_of_functions_are_not_swallowed(engine: str, tmp_path: Path) -> None:
    _none_is_swallowed(engine, "functions", tmp_path, 29)


class _Ended:
    """An object that reports its deletion."""

    def __init__(self, gone: list[bool]) -> None:
        self._gone = gone

    def __del__(self) -> None:
        self._gone.append(True)


def _raised_by_worker(worker: Worker) -> None:
    worker.do(_raise_here)


def _raised_through_the_net(worker: Worker) -> None:
    with_net = recorder.active
    assert with_net is not None
    with_net._failed(MemoryError(), _raise_here)


@pytest.mark.parametrize("raises", [_raised_by_worker, _raised_through_the_net])
def test_the_frames_that_it_came_through_end_at_once(raises: Callable[[Worker], None]) -> None:
    """A frame of PyTorch's may hold a C++ guard (``guard`` in ``_str``). If the garbage collector ends the guard within
    some other call, that call loses its excluded keys.
    """
    gone: list[bool] = []

    def program() -> None:
        _here = _Ended(gone)
        raises(worker)

    worker = Worker(lambda: None, HANGS)
    gc.disable()
    try:
        with dispatchviz.record(), suppress(KeyError, MemoryError):
            program()
        assert gone
    finally:
        gc.enable()
        worker.end()
