"""Our kernels, which notify the recorder and then call the original kernel.

There are thousands of kernels, so they share one function (the garbage collector looks at each object). It runs
often, so ``SafetyNet`` is inlined, and so are the two most common notes. With these in methods of
the recorder, 1,000 recorded adds and their backward took a tenth longer (73 ms instead of 66, ``benchmarks/live.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dispatchviz.core.seam import recorder
from dispatchviz.live.plain_errors import as_in_pytorch
from dispatchviz.live.watched_cells import Step
from dispatchviz.live.watched_operators import WatchedCell
from dispatchviz.live.wrapped_numbers import KINDS

if TYPE_CHECKING:
    from dispatchviz.live.live_recorder import LiveRecorder

MakeStep = Callable[[WatchedCell, Step], Step]
"""A function from a cell and the caller of its original kernel to the kernel that replaces it."""


LEVELS = 6
"""The levels of Python's stack that ``call_boxed`` needs to convert arguments, or to tell why it cannot."""


def leave_room(levels: int) -> None:
    """Raise RecursionError unless the stack has room for more levels.

    If the stack ends within ``call_boxed``, pybind11 asks for the text of the RecursionError, which raises another one,
    and so on until the process ends with a segmentation fault.
    """
    if levels:
        leave_room(levels - 1)


def steps(watch: LiveRecorder) -> MakeStep:
    """Return a function that makes our kernels for a recorder."""
    wrapped, with_tensors, threads, known = watch.wrapped.of, watch._with_tensors, watch._threads, watch._known
    called, returned, failed, falls = watch._kernel_called, watch._kernel_returned, watch.kernel_failed, watch._failed
    not_begun, end, raw, grad_mode = watch._call_failed, type(watch)._kernel_returned, watch._raw, watch._grad_mode

    def step(cell: WatchedCell, call: Step, /, *args: Any, **kwargs: Any) -> Any:  # the key set comes first
        given = args  # all are passed on unchanged
        for value in args:
            if type(value) in KINDS:
                if cell.operator.is_given_number(args):
                    given, onward = with_tensors(cell, args, kwargs)
                    if onward is not None:
                        return onward(*given, **kwargs)
                    args = args if cell.is_python else given
                break
        recorded = recorder.listening is watch and (thread := threads.state).watched
        before = thread.inside if recorded else None
        try:
            if recorded:
                try:
                    if (
                        before is not None
                        and (around := before[0]).redispatches is cell.operator
                        and around is not cell
                        and not around.calls_again
                        and not (around.is_python and raw(args[0]) & ~before[3])  # it calls it with other tensors
                    ):
                        own, local = raw(args[0]), thread.sets
                        watch.note(("kernel_redispatched", cell, own, local[0], local[1]))
                        thread.inside = cell, before[1], before, own
                    else:
                        called(cell, given, kwargs, thread)
                except Exception as fault:
                    not_begun(fault, before, cell, given, kwargs, thread)
            leave_room(LEVELS)
            result = call(*args, **kwargs)
            if type(result) in KINDS and cell.operator.one_tensor and not cell.is_python:
                result = wrapped(result)
            if recorded:
                try:
                    if watch.reader is not None:
                        watch.result_read(cell, args, kwargs, result)
                    one, inside = known.get(id(result)), thread.inside
                    if one is None or inside is None or one() is not result or (cell.is_autograd and grad_mode()):
                        returned(result, thread)
                    else:
                        thread.inside = inside[2]
                        watch.note(("kernel_returned_one", one.number))
                except Exception as fault:
                    falls(fault, end, result, thread)
            return result
        except BaseException as error:
            if recorded:
                failed(cell, args, kwargs, thread, before)
            as_in_pytorch(error, watch.cells)
            raise

    return lambda cell, call: partial(step, cell, call)
