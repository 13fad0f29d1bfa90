"""The thread of dispatchviz that works beside the program's."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest

from dispatchviz.core.record.worker import Worker, without_collections
from tests.waiting import HANGS


def _worker(idle: Callable[[], None] = lambda: None, interval: float = HANGS) -> Worker:
    return Worker(idle, interval)


def test_work_is_done_in_another_thread_before_do_returns() -> None:
    worker, idents = _worker(), list[int]()
    for _ in range(3):
        worker.do(lambda: idents.append(threading.get_ident()))
    worker.end()
    assert len(set(idents)) == 1
    assert threading.get_ident() not in idents
    assert len(idents) == 3


def test_exception_of_the_work_is_raised_and_the_worker_continues() -> None:
    worker, done = _worker(), list[int]()
    with pytest.raises(ZeroDivisionError):
        worker.do(lambda: done.append(1 // 0))
    worker.do(lambda: done.append(1))
    worker.end()
    assert done == [1]


def test_several_threads_can_give_work_at_once() -> None:
    worker, done = _worker(), list[int]()
    threads = [
        threading.Thread(target=lambda: [worker.do(lambda: done.append(1)) for _ in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS)
    worker.end()
    assert len(done) == 800


def test_idle_worker_calls_idle() -> None:
    looked = threading.Event()
    worker = _worker(looked.set, 0.001)
    assert looked.wait(HANGS)
    worker.end()


def test_signal_handler_can_give_work_during_a_wait() -> None:
    worker, done = _worker(), list[str]()

    def handle(number: int, frame: FrameType | None) -> None:
        worker.do(lambda: done.append("handler's"))

    def work() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.05)
        done.append("program's")

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        worker.do(work)
    finally:
        signal.signal(signal.SIGUSR1, before)
    worker.end()
    assert done == ["program's", "handler's"]


def test_an_interrupted_wait_ends_with_the_work_and_then_raises() -> None:
    worker, done = _worker(), list[int]()

    def work() -> None:
        _thread.interrupt_main()
        time.sleep(0.05)
        done.append(1)

    with pytest.raises(KeyboardInterrupt):
        worker.do(work)
    worker.end()
    assert done == [1]


def test_work_given_by_the_work_itself_does_nothing() -> None:
    worker, done = _worker(), list[int]()

    def work() -> None:
        worker.do(lambda: done.append(2))
        done.append(1)

    worker.do(work)
    worker.end()
    assert done == [1]


def test_caller_does_the_work_if_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    worker, idents = _worker(), list[int]()
    for _ in range(2):
        worker.do(lambda: idents.append(threading.get_ident()))
    worker.end()
    assert idents == [threading.get_ident()] * 2


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="Linux tells which threads there are")
def test_thread_ends_for_a_fork_and_works_afterwards() -> None:
    worker, natives = _worker(), list[int]()
    worker.do(lambda: natives.append(threading.get_native_id()))
    assert str(natives[0]) in os.listdir("/proc/self/task")
    child = os.fork()
    if child == 0:
        os._exit(0)
    running = os.listdir("/proc/self/task")
    os.waitpid(child, 0)
    worker.do(lambda: natives.append(threading.get_native_id()))
    worker.end()
    assert str(natives[0]) not in running
    assert natives[1] not in (natives[0], threading.get_native_id())


def test_no_garbage_is_collected_during_work_and_the_thresholds_stay() -> None:
    phases: list[str] = []

    def heard(phase: str, info: dict[str, int]) -> None:
        phases.append(phase)

    before = gc.get_threshold()
    gc.callbacks.append(heard)
    try:
        without_collections(lambda: [[] for _ in range(20 * before[0])].clear())
        during = len(phases)
        garbage = [[] for _ in range(2 * before[0])]
    finally:
        gc.callbacks.remove(heard)
    assert (during, gc.get_threshold(), gc.isenabled()) == (0, before, True)
    assert phases
    assert garbage


def test_thresholds_set_by_the_program_meanwhile_are_kept() -> None:
    before = gc.get_threshold()
    try:
        without_collections(lambda: gc.set_threshold(5, 6, 7))
        assert gc.get_threshold() == (5, 6, 7)
    finally:
        gc.set_threshold(*before)


def test_thresholds_are_restored_after_the_last_of_two_threads() -> None:
    before, seen = gc.get_threshold(), list[int]()
    begun, first_is_over = threading.Event(), threading.Event()

    def second_work() -> None:
        begun.set()
        first_is_over.wait()
        seen.append(gc.get_threshold()[0])

    second = threading.Thread(target=without_collections, args=[second_work])

    def first_work() -> None:
        second.start()
        begun.wait()

    without_collections(first_work)
    first_is_over.set()
    second.join()
    assert (seen, gc.get_threshold()) == ([0], before)
