"""Our kernels in front of the kernels in the cells (dispatch table entries) of an installed PyTorch.

Each of our kernels receives the key set, notifies the recorder, and calls the original kernel with the same set. So
each level shows its true key set, including levels that a redispatch reaches. Fallthrough cells are left alone, because
no call selects them. Registrations are read before any cell is changed (``installed_registrations.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import BackendComponent, DispatchKey
from dispatchviz.foundation.garbage_collection import collector_waits
from dispatchviz.live.installed_torch import may_have_cuda
from dispatchviz.live.kernel_calls import calls_in_parallel, hands_out_kernels, kernel_calls, overriding
from dispatchviz.live.python_kernels import PythonKernels, caller
from dispatchviz.live.registration import OUR_FILE, defined_operators, is_generated

Step = Callable[..., Any]
"""A kernel. It takes the key set and then the arguments."""
MakeStep = Callable[[str, str, Step, bool], Step]
"""A function from an operator, a key, the caller of the kernel in that cell, and whether Python registered it, to the
kernel that replaces it.
"""

K = DispatchKey
_TRANSFORMS = (
    *(K.FuncTorchDynamicLayerFrontMode, K.FuncTorchGradWrapper, K.FuncTorchVmapMode, K.FuncTorchBatched),
    K.FuncTorchDynamicLayerBackMode,
)
_ON_META = (K.AutogradMeta, K.Meta, K.SparseMeta, K.SparseCsrMeta, K.NestedTensorMeta)
META = 1 << BackendComponent.MetaBit - 1
CUDA = 1 << BackendComponent.CUDABit - 1
OF_DEVICES = {"meta": META, "cuda": CUDA}
"""Devices whose kernels may not be watched yet, with the bit of their tensors."""
FUNCTORCH = raw(K.FuncTorchGradWrapper, K.FuncTorchBatched)
FUNCTIONALIZE = raw(K.Functionalize)
PYTHON = raw(K.Python)
TRACER = raw(K.Tracer)

ON_DEMAND = (
    (META, _ON_META),
    (FUNCTORCH, _TRANSFORMS),
    (FUNCTIONALIZE, (K.Functionalize, *_ON_META)),
    (PYTHON, (K.PythonTLSSnapshot, K.Python)),
    (TRACER, (K.Tracer,)),
    (raw(K.ZeroTensor), (K.ZeroTensor,)),
    (raw(K.Negative), (K.Negative,)),
    (raw(K.Conjugate), (K.Conjugate,)),
    (raw(K.AutogradOther), (K.AutogradOther,)),
)
"""Keys that are watched only when the first tensor with one of the bits is met, because each takes a tenth of a
second. A kernel for Functionalize calls a kernel for Meta with meta tensors that it makes without a call (``to_meta``
in the template ``RegisterFunctionalization.cpp``).
"""
_OF_CUDA = (K.AutogradCUDA, K.CUDA, K.AutocastCUDA, K.SparseCUDA, K.SparseCsrCUDA, K.QuantizedCUDA, K.NestedTensorCUDA)
ON_DEMAND_WITHOUT_GPU = (*ON_DEMAND, (CUDA, _OF_CUDA))
"""The same for a CUDA build without a driver. Only fake tensors and wrappers have the keys of CUDA there."""
GIVING_A_BIT = {"aten::_conj": raw(K.Conjugate), "aten::_neg_view": raw(K.Negative)}
"""Operators that set a bit of ``ON_DEMAND`` on a tensor that was met before."""
OF_BACKENDS = (K.CPU, K.CUDA)
"""Backends whose cells are watched from the start, with their Autograd keys, if the build has kernels there."""
BY_REGISTRATION = (
    *(K.ADInplaceOrView, K.BackendSelect, K.AutocastCPU, K.AutocastCUDA),
    *(K.SparseCPU, K.SparseCsrCPU, K.QuantizedCPU, K.NestedTensorCPU, K.MkldnnCPU, K.PrivateUse1),
    *(K.SparseCUDA, K.SparseCsrCUDA, K.QuantizedCUDA, K.NestedTensorCUDA),
    K.AutogradNestedTensor,
)
"""Keys for which only cells with a kernel registered under the key itself are watched."""
ABOVE = {"AutogradPrivateUse1": "PrivateUse1"}
"""Keys for which only the operators with a kernel for another key are watched: a backend of the program has few."""
LEFT_ALONE = frozenset({"aten::div_.Tensor_mode"})
"""Operators that are never watched, because wrapped numbers are made with them."""
WITHOUT_TENSORS = {
    "aten::_nnpack_available": "CompositeImplicitAutograd",
    "profiler::_record_function_enter_new": "CompositeExplicitAutograd",
    "profiler::_record_function_exit._RecordFunction": "CompositeExplicitAutograd",
}
"""Operators that kernels and optimizers call, and that get no key from a tensor, with the alias of their kernel. A
registration for Undefined itself would count as one for CompositeImplicitAutograd.
"""
_WITHOUT_TENSORS = [(name, "Undefined") for name in WITHOUT_TENSORS]


class WatchedCells:
    """Our kernels in the cells of a process, until they are taken out."""

    def __init__(self, torch: Any, make_step: MakeStep) -> None:
        c = self._c = torch._C
        self.python = PythonKernels(torch)
        self._threads: Callable[[], int] = torch.get_num_threads
        self._make_step = make_step
        self._calls = kernel_calls(torch)
        self._has = c._dispatch_has_kernel_for_dispatch_key
        self._has_computed = c._dispatch_has_computed_kernel_for_dispatch_key  # both before ``queries_answered``
        self._autograd = c._dispatch_key_parse("Autograd")
        self._libraries: dict[str, Any] = {}
        """The libraries that keep our kernels in the cells of an operator."""
        self._keys: dict[str, Any] = {}
        """Keys whose cells are watched."""
        self.waiting = 0
        """Bits of key sets that are not watched yet."""
        self._away = False
        waits = not may_have_cuda(torch) and _has_registrations(c, K.CUDA.name, MANY)
        self._on_demand = ON_DEMAND_WITHOUT_GPU if waits else ON_DEMAND

    @property
    def in_parallel(self) -> bool:
        """True while a kernel runs that calls others on threads of OpenMP too."""
        return self._calls.in_parallel > 0

    def put(self) -> None:
        """Put our kernels into the cells that most programs reach."""
        self._put_all(self._keys_from_the_start())
        self.waiting = sum(bits for bits, _ in self._on_demand)

    def _keys_from_the_start(self) -> list[str]:
        keys = [key.name for key in BY_REGISTRATION if _has_registrations(self._c, key.name)]
        keys += [key for key, backend in ABOVE.items() if _has_registrations(self._c, backend)]
        for backend in OF_BACKENDS:
            if _has_registrations(self._c, backend.name, MANY):
                keys += [f"Autograd{backend.name}", backend.name]
        later = {key.name for _, waiting in self._on_demand for key in waiting}
        return [key for key in keys if key not in later]

    @property
    def is_apart(self) -> bool:
        """True while none of our kernels may be in a cell."""
        return self._away

    def look(self) -> None:
        """Do nothing, because all calls are watched all the time (``watched_parts.py``)."""

    look_again = look_away = end_waiting = look

    def meet(self, ks: int) -> None:
        """Watch the keys of a key set that was met."""
        wanted, self.waiting = self.waiting & ks, self.waiting & ~ks
        for bits, keys in self._on_demand:
            if wanted & bits:
                self.waiting &= ~bits
                self._put_keys([key.name for key in keys if key.name not in self._keys])

    def lift(self, operators: Iterable[str]) -> None:
        """Take our kernels of some operators out of their cells, until ``put_again``."""
        for operator in operators:
            self._libraries.pop(operator, None)
            self._calls.lift(operator)

    def table(self, operator: str) -> str:
        """Return the text of ``_dispatch_dump_table`` without our kernels."""
        with self.without_ours((operator,)):
            return str(self._c._dispatch_dump_table(operator))

    @contextmanager
    def without_ours(self, operators: Sequence[str]) -> Iterator[None]:
        """Take our kernels out of the cells of some operators inside the block."""
        self.lift(operators)
        try:
            yield
        finally:
            self.put_again(operators)

    def put_again(self, operators: Sequence[str]) -> None:
        """Put our kernels into the cells of operators whose registrations have changed."""
        cells = [(operator, key) for operator in operators for key in self._keys]
        self._put([(operator, key) for operator, key in cells if self._holds_kernel(operator, key)])
        self._put_errors([(one, key) for one in operators for key in self._empty_backends(one)])

    def take_out(self) -> None:
        """Take our kernels out of all cells, which get their old contents."""
        self._lift_all()
        self._keys.clear()
        self.waiting = 0

    def _lift_all(self) -> None:
        self._libraries.clear()
        self._calls.forget()
        with overriding(self._c):
            self.python.restore()

    @contextmanager
    def out(self) -> Iterator[None]:
        """Take our kernels out of all cells inside the block."""
        keys, waiting = list(self._keys), self.waiting
        self.take_out()
        try:
            yield
        finally:
            if keys:
                self._put_all(keys)
                self.waiting = waiting

    @contextmanager
    def without(self, key: str) -> Iterator[None]:
        """Take our kernels out of the cells of a key inside the block."""
        if key not in self._keys:
            yield
            return
        keys, waiting = [one for one in self._keys if one != key], self.waiting
        self.take_out()
        self._put_all(keys)
        self.waiting = waiting
        try:
            yield
        finally:
            self._put(list(self._cells_of([key])))

    def _put_all(self, keys: Sequence[str]) -> None:
        self._put_keys(keys)
        self._put(_WITHOUT_TENSORS)

    def _put_keys(self, keys: Sequence[str]) -> None:
        """Put our kernels into the cells of some keys, and those that raise errors into the empty cells of backends."""
        names = self._names()
        cells = dict.fromkeys(self._cells_among(names, keys))
        self._put(cells)
        own = [name for name in names if name.startswith("aten::")]
        backends = [key for key in self._backends() if key in keys]
        self._put_errors((one, key) for key in backends for one in own if (one, key) not in cells)

    def _names(self) -> set[str]:
        """Return the operators that are watched."""
        return defined_operators(self._c)

    def _put_errors(self, empty: Iterable[tuple[str, str]]) -> None:
        """Put kernels that raise PyTorch's error into the empty cells of backends.

        PyTorch's own error there lists the kernels of the operator, and ours must not be among them
        (``plain_errors.py`` corrects it where one of ours has been called before).
        """
        if self._away:
            return
        for operator, key in empty:
            self._calls.put(operator, key, self._error_of(operator), self._library(operator))

    def _backends(self) -> list[str]:
        """Return the backends that are watched."""
        return [key.name for key in OF_BACKENDS if key.name in self._keys]

    def _empty_backends(self, operator: str) -> list[str]:
        """Return the watched backends for which an operator has no kernel."""
        return [key for key in self._backends() if not self._has_computed(operator, key)]

    def _error_of(self, operator: str) -> Step:
        call = self._c._dispatch_find_schema_or_throw(*operator.partition(".")[::2]).redispatch_boxed

        def fails(keys: Any, *args: Any, **kwargs: Any) -> Any:
            self.lift((operator,))
            try:
                return call(keys, *args, **kwargs)
            finally:
                self.put_again((operator,))

        return fails

    def leave(self) -> None:
        """Take our kernels out of all cells. Later ones wait until ``come_back`` is called."""
        self._away = True
        self._lift_all()

    def come_back(self) -> None:
        """Put our kernels into the cells of all keys that are watched by now."""
        self._away = False
        if self._keys:
            self._put_all(list(self._keys))

    def _put(self, cells: Iterable[tuple[str, str]]) -> None:
        with collector_waits(), overriding(self._c):
            for operator, key in cells:
                if operator not in LEFT_ALONE and not self._away:
                    self._put_one(operator, key)

    def _put_one(self, operator: str, key: str) -> None:
        step = self._step_of(operator, key)
        if step is not None:
            under = WITHOUT_TENSORS[operator] if key == "Undefined" else key
            self._calls.put(operator, under, step, self._library(operator))

    def _step_of(self, operator: str, key: str) -> Step | None:
        """Return our kernel for a cell; None for a fallthrough, and if the function in the cell is not known."""
        parsed = self._key(key)
        call, place = self._calls.of(operator, key, parsed)
        is_python = False
        if not is_generated(place):
            direct = self._has(operator, key)
            if self._is_fallthrough(operator, key, direct):
                return None
            is_python = direct and self._calls.is_python(operator, key, place)
        if is_python:
            found = self.python.find(operator, key)
            if found is None:
                return None
            self.python.put[operator, key] = found
            call = caller(found)
        if calls_in_parallel(operator, key) and not hands_out_kernels(self._c):
            call = self._without_us(call)
        if operator in GIVING_A_BIT:
            call = self._meeting(GIVING_A_BIT[operator], call)
        return self._make_step(operator, key, call, is_python)

    def _without_us(self, call: Step) -> Step:
        """Wrap a call so that none of our kernels is in a cell while it runs, if its kernel calls others on several
        threads.

        This is for releases in which our kernels leave their cells: one thread may be about to call a kernel that
        another one takes out.
        """

        def calls(*args: Any, **kwargs: Any) -> Any:
            if self._threads() == 1:
                return call(*args, **kwargs)
            with self.out():
                return call(*args, **kwargs)

        return calls

    def _meeting(self, bits: int, call: Step) -> Step:
        """Wrap a call so that it begins to watch the keys of some bits."""

        def meets(*args: Any, **kwargs: Any) -> Any:
            if self.waiting & bits:
                self.meet(bits)
            return call(*args, **kwargs)

        return meets

    def _key(self, key: str) -> Any:
        return self._keys.get(key) or self._c._dispatch_key_parse(key)

    def _library(self, operator: str) -> Any:
        if operator not in self._libraries:
            namespace = operator.partition("::")[0]
            self._libraries[operator] = self._c._dispatch_library("FRAGMENT", namespace, "", OUR_FILE, 0)
        return self._libraries[operator]

    def _cells_of(self, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
        return self._cells_among(self._names(), keys)

    def _cells_among(self, names: set[str], keys: Iterable[str]) -> Iterator[tuple[str, str]]:
        for key in keys:
            if _is_known(self._c, key):
                self._keys[key] = self._c._dispatch_key_parse(key)
                yield from ((operator, key) for operator in self._holding(key, names))

    def _holding(self, key: str, names: set[str]) -> list[str]:
        """Return the operators among ``names`` whose cell of a key holds a kernel, which may be a fallthrough."""
        if key in _BY_REGISTRATION or key in ABOVE:
            names = names.intersection(self._c._dispatch_get_registrations_for_dispatch_key(ABOVE.get(key, key)))
        if key not in _BY_REGISTRATION:
            names = {name for name in names if self._holds_kernel(name, key)}
        return sorted(names)

    def _holds_kernel(self, operator: str, key: str) -> bool:
        """Return whether a cell holds a kernel, which may be a fallthrough."""
        return bool((self._has if key in _BY_REGISTRATION else self._has_computed)(operator, key))

    def _is_fallthrough(self, operator: str, key: str, direct: bool) -> bool:
        """Return whether the kernel in a cell is a fallthrough. ``direct`` is True if it is registered under the
        key itself.
        """
        is_fallthrough: Callable[[str, Any], bool] = self._c._dispatch_kernel_for_dispatch_key_is_fallthrough
        if direct:
            return is_fallthrough(operator, self._key(key))
        return (
            key.startswith("Autograd") and self._has(operator, "Autograd") and is_fallthrough(operator, self._autograd)
        )


LATER_BY_REGISTRATION = (K.FuncTorchVmapMode, K.SparseMeta, K.SparseCsrMeta, K.NestedTensorMeta)
"""The same for keys that are watched on demand. NB: with a kernel of ours under a sparse key, a
CompositeImplicitAutograd kernel would be ambiguous at AutogradOther.
"""
_BY_REGISTRATION = frozenset(key.name for key in (*BY_REGISTRATION, *LATER_BY_REGISTRATION))

MANY = 500
"""The smallest number of operators for which a backend has kernels. A CPU build has some 20 for CUDA."""


def _has_registrations(c: Any, key: str, at_least: int = 1) -> bool:
    return _is_known(c, key) and len(c._dispatch_get_registrations_for_dispatch_key(key)) >= at_least


def _is_known(c: Any, key: str) -> bool:
    try:
        c._dispatch_key_parse(key)
    except RuntimeError:
        return False
    return True
