"""Calls of the original kernel of a cell from the kernel that replaced it.

PyTorch 2.9 and later hand out the kernel itself (but see ``CALLING_IN_PARALLEL``). In earlier releases our kernel
leaves the cell while the original one runs. Calls of the same operator and key are then not seen, neither from that
kernel nor from other threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import active_count
from typing import Any

from dispatchviz.live.registration import OUR_FILE, is_in_python_file, place_in, registrations_in

Call = Callable[..., Any]
"""A function that takes the key set and then the arguments."""


class LiftedKernels:
    """Calls of the original kernel by a redispatch, while ours are out of the way.

    Our kernel leaves the cell of the call. For an operator with a CompositeImplicitAutograd kernel ours leave all
    cells, because that kernel does not serve Autograd keys where a backend has a kernel.
    """

    def __init__(self, torch: Any) -> None:
        self._torch, self._c = torch, torch._C
        self._python = self._c._dispatch_key_parse("PythonDispatcher")
        self._put: dict[str, dict[str, tuple[Any, Call]]] = {}
        """For each operator, by key: the library that keeps our kernel in the cell, and that kernel."""
        self.in_parallel = 0
        """The number of running kernels that call others on threads of OpenMP."""

    def of(self, operator: str, key: str, parsed: Any) -> tuple[Call, str]:
        """Return a function that calls the kernel behind ours in a cell, and no place of registration, because these
        releases do not say it fast.
        """
        return self.caller(operator, key, parsed), ""

    def caller(self, operator: str, key: str, parsed: Any) -> Call:
        """Return a function that calls the kernel behind ours in a cell."""
        redispatch: Call = self._c._dispatch_find_schema_or_throw(*operator.partition(".")[::2]).redispatch_boxed
        by_python = self._by_python_dispatcher(operator, parsed)
        composite = self._c._dispatch_has_kernel_for_dispatch_key(operator, "CompositeImplicitAutograd")

        parallel = calls_in_parallel(operator, key)

        def call(keys: Any, *args: Any, **kwargs: Any) -> Any:
            put = self._put.get(operator, {})
            lifted = {one: step for one, (_, step) in put.items() if composite or one == key}
            for one in lifted:
                del put[one]  # with its library our kernel leaves the cell
            self.in_parallel += parallel
            try:
                return (by_python if keys.has(self._python) else redispatch)(keys, *args, **kwargs)
            finally:
                self.in_parallel -= parallel
                if self._put.get(operator) is put:  # otherwise the kernel had ours lifted, and they may be back by now
                    with overriding(self._c):
                        for one, step in lifted.items():
                            self.put(operator, one, step, None)

        return call

    def _by_python_dispatcher(self, operator: str, parsed: Any) -> Call:
        """Return a function that calls the cell through Python's dispatcher.

        A redispatch would begin with PythonDispatcher again, which cached our kernel for the key. PythonDispatcher
        called the cell by its key, so this does too, with a key set that is computed from the arguments.
        """

        def call(keys: Any, *args: Any, **kwargs: Any) -> Any:
            namespace, _, rest = operator.partition("::")
            name, _, overload = rest.partition(".")
            found = getattr(getattr(getattr(self._torch.ops, namespace), name), overload or "default")
            return found._op_dk(self._torch._ops.resolve_key(found, parsed), *args, **kwargs)

        return call

    def is_python(self, operator: str, key: str, place: str) -> bool:
        """Return whether Python registered the newest kernel of a key."""
        rows = (row for row in registrations_in(self._c._dispatch_dump(operator)) if row.key == key)
        newest = next(rows, None)
        return newest is not None and newest.is_python

    def put(self, operator: str, key: str, step: Call, library: Any) -> None:
        """Put a kernel into the cell by a library of its own."""
        own = self._c._dispatch_library("FRAGMENT", operator.partition("::")[0], "", OUR_FILE, 0)
        own.impl(operator, key, step, True)
        self._put.setdefault(operator, {})[key] = own, step

    def lift(self, operator: str) -> None:
        """Take our kernels of an operator out of their cells, even while one of them runs and remembers the others."""
        self._put.pop(operator, {}).clear()

    def forget(self) -> None:
        """Forget all kernels, which are out of their cells."""
        for operator in list(self._put):
            self.lift(operator)


CALLING_IN_PARALLEL = frozenset(
    {
        "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
        "aten::slow_conv_transpose2d",
        "aten::slow_conv_transpose2d.out",
    }
)
"""Operators whose CPU kernel calls others within ``at::parallel_for``, on threads of OpenMP.

Our kernels on those threads need the GIL, which ``call_boxed`` does not release, so all threads would wait for ever.
The list was found by running all of PyTorch's ``op_db`` and some 160 bigger calls on four threads, forward and
backward, with our kernels in all cells. PyTorch 2.9, 2.13 and 2.14 need no others, and before 2.9 all kernels are
called by a redispatch.
"""


LARGE = 1 << 20
"""The number of elements in the arguments from which on a kernel may take a second."""


class KernelObjects:
    """Kernels as ``torch._C`` hands them out (``_dispatch_get_computed_kernel_for_dispatch_key``).

    ``call_boxed`` keeps the GIL, a redispatch releases it. So our kernels are lifted out of the cell where a CPU kernel
    calls others in parallel, and where any kernel computes something large: a signal that ends the process waits for
    the GIL.
    """

    def __init__(self, torch: Any) -> None:
        self._torch, self._c = torch, torch._C
        self._lifted = LiftedKernels(torch)
        self._kernel = self._c._dispatch_get_computed_kernel_for_dispatch_key
        self._call_boxed: Call = self._c._SafeKernelFunction.call_boxed.__func__
        """The method as a plain function, because binding it takes longer than getting the kernel."""
        self._tensors = frozenset((torch.Tensor, torch.nn.Parameter))
        self._call_on_cpu = self._cpu_caller()

    @property
    def in_parallel(self) -> int:
        """The number of running kernels that call others on threads of OpenMP."""
        return self._lifted.in_parallel

    def of(self, operator: str, key: str, parsed: Any) -> tuple[Call, str]:
        """Return a function that calls the kernel that is in a cell now, and the place of its registration."""
        kernel = self._kernel(operator, parsed)
        return self._caller(operator, key, parsed, kernel), place_in(repr(kernel).partition("debug='")[2][:-2])

    def _caller(self, operator: str, key: str, parsed: Any, kernel: Any) -> Call:
        if calls_in_parallel(operator, key):
            return self._lifted.caller(operator, key, parsed)
        return partial(self._call_on_cpu, operator, kernel) if key == "CPU" else partial(self._call_boxed, kernel)

    def _cpu_caller(self) -> Call:
        """Return the function that all our CPU kernels share, because thousands of objects would take longer to make.
        It takes an operator, its kernel, and the key set and the arguments of a call.
        """
        function_modes, tracing_state = self._c._len_torch_function_stack, self._c._get_tracing_state
        tensors, call_boxed, parsed = self._tensors, self._call_boxed, self._c._dispatch_key_parse("CPU")

        def call(operator: str, kernel: Any, /, *args: Any, **kwargs: Any) -> Any:  # the key set is the third
            if not function_modes() and tracing_state() is None:  # otherwise they would see the calls of ``numel``
                elements = 0
                for value in args:
                    if type(value) in tensors:
                        elements += value.numel()
                if elements >= LARGE and self._is_alone():
                    return self._lifted.caller(operator, "CPU", parsed)(*args, **kwargs)
            return call_boxed(kernel, *args, **kwargs)

        return call

    def _is_alone(self) -> bool:
        """Return whether no other thread may be about to call our kernel that is lifted."""
        return not self.in_parallel and active_count() == 1 and not self._torch.cuda.is_initialized()

    def is_python(self, operator: str, key: str, place: str) -> bool:
        """Return whether Python registered a kernel, given its place."""
        return is_in_python_file(place)

    def put(self, operator: str, key: str, step: Call, library: Any) -> None:
        """Put a kernel into the cell until its library is deleted or the kernel is lifted."""
        if key == "CPU":
            self._lifted.put(operator, key, step, library)
        else:
            library.impl(operator, key, step, True)

    def lift(self, operator: str) -> None:
        """Take our CPU kernels of an operator out of their cells. The library of the others is gone."""
        self._lifted.lift(operator)

    def forget(self) -> None:
        """Forget all kernels, which are out of their cells."""
        self._lifted.forget()


def calls_in_parallel(operator: str, key: str) -> bool:
    """Return whether a kernel calls others on threads of OpenMP."""
    return key == "CPU" and operator in CALLING_IN_PARALLEL


def kernel_calls(torch: Any) -> KernelObjects | LiftedKernels:
    """Return the way to call kernels in the installed release."""
    return KernelObjects(torch) if hands_out_kernels(torch._C) else LiftedKernels(torch)


HANDING_OUT = (2, 9)
"""The first release that hands out the kernel of a cell."""


def hands_out_kernels(c: Any) -> bool:
    """Return whether the installed release hands out the kernel of a cell."""
    return hasattr(c, "_dispatch_get_computed_kernel_for_dispatch_key")


_SHOWN = [("always", None, Warning, None, 0)]


class _OverrideWarning:
    """PyTorch's warning about an overridden kernel. PyTorch gives it once in a process (``TORCH_WARN_ONCE``)."""

    is_ours = False
    """True if one of our kernels has caused it. Then the first kernel of the program is to cause it again."""


@contextmanager
def overriding(c: Any) -> Iterator[None]:
    """Suppress PyTorch's warning about overridden kernels inside the block.

    Warning each time instead (``_set_warnAlways``) would take five times as long as putting a kernel. NB:
    ``catch_warnings`` would make Python forget which warnings the program has already seen.
    """
    python: Any = warnings
    always, filters, show = c._get_warnAlways(), warnings.filters, python._showwarnmsg

    def suppress(message: Any) -> None:
        _OverrideWarning.is_ours = True

    c._set_warnAlways(False)
    python.filters, python._showwarnmsg = _SHOWN, suppress
    try:
        yield
    finally:
        python.filters, python._showwarnmsg = filters, show
        c._set_warnAlways(always)


@contextmanager
def warning_of_override(c: Any, operators: Iterable[str], key: str) -> Iterator[None]:
    """Let PyTorch warn inside the block about the program's first kernel that overrides another one."""
    overrides = key != "Meta" and any(c._dispatch_has_kernel_for_dispatch_key(one, key) for one in operators)
    if not (_OverrideWarning.is_ours and overrides) or c._get_warnAlways():
        yield
        return
    _OverrideWarning.is_ours = False
    c._set_warnAlways(True)
    try:
        yield
    finally:
        c._set_warnAlways(False)
