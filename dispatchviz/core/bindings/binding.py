"""A Python binding: parse the arguments, then call the C++ side (``torch/csrc/autograd/generated/python_*.cpp``).

If an exception leaves a binding (Ctrl+C at any moment included), the thread's state is what it was before the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dispatchviz.core.bindings.parameter_values import number_as_tensor
from dispatchviz.core.bindings.python_arg_parser import PythonArgParser
from dispatchviz.core.bindings.torch_function import (
    flattened,
    handle_torch_function,
    mode_enabled,
    multiple_dispatch_failed,
    overloaded_args,
    overrides,
)
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import default_included_set
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes
from dispatchviz.core.seam.recorder import LEAVE, LEAVE_UNLESS_OVER
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.thread_state import restore_state, save_state, thread
from dispatchviz.foundation.unlocked_property import cached_property

if TYPE_CHECKING:
    from dispatchviz.core.device.device import Device
    from dispatchviz.core.tensor.dtype import DType

Overload = tuple[Any, ...]
"""A signature, the function that runs if it matches, and the operator that this function calls. If out= is the last
parameter, a fourth item is the function that may run without it. The ``call`` of a generated operator is written as the
text ``"ops.add_Tensor.call"``, since a process calls few of them.
"""


class Plan(Struct, frozen=True, gc=False):
    """The way to run a call whose argument types the parser has matched before: the overload and its defaults."""

    run: Callable[..., Any]
    """The function to call with the program's arguments."""
    numbers: tuple[int, ...]
    """Positions of Python numbers to wrap."""
    ints: tuple[int, ...]
    """Positions of Python ints, which may exceed 64 bits."""
    signature: int
    """The index of the signature that fits."""
    tensors: tuple[bool, ...]
    """For each argument, True if it is a tensor."""
    default_texts: tuple[str, ...]
    """The defaults as traces show them."""
    is_call: bool
    """True if ``run`` is just an operator's ``call``: the binding is over when that call is."""


def _completed(run: Callable[..., Any], numbers: tuple[int, ...], defaults: tuple[Any, ...]) -> Callable[..., Any]:
    """Return ``run`` with its Python numbers wrapped as tensors and its missing parameters set to their defaults."""
    if numbers:
        return lambda *args: run(*_wrapped(args, numbers), *defaults)
    return (lambda *args: run(*args, *defaults)) if defaults else run


def _wrapped(args: tuple[Any, ...], numbers: tuple[int, ...]) -> list[Any]:
    """The arguments with Python numbers as 0-dim tensors."""
    return [number_as_tensor(value) if i in numbers else value for i, value in enumerate(args)]


def _has_too_large(args: tuple[Any, ...], ints: tuple[int, ...]) -> bool:
    """Return whether an int exceeds 64 bits. Only the parser handles it then."""
    return not all(_SMALLEST <= args[i] <= _LARGEST for i in ints)


_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


def _found(run: Callable[..., Any] | str) -> Callable[..., Any]:
    """Return the function to run, looked up if it is given as the name of a generated operator."""
    if not isinstance(run, str):
        return run
    _, operator, call = run.split(".")
    found: Callable[..., Any] = getattr(getattr(ops, operator), call)
    return found


def _is_call(function: Callable[..., Any]) -> bool:
    """Return whether a function is the ``call`` of a generated operator."""
    return function.__module__ == ops.__name__ and function.__name__ == "call"


def _own_defaults(function: Callable[..., Any], count: int) -> tuple[Any, ...]:
    """The function's own defaults of its last ``count`` parameters."""
    own: tuple[Any, ...] = getattr(function, "__defaults__", None) or ()
    return own[len(own) - count :] if count <= len(own) else ()


def value_text(value: Any) -> str:
    """The text of a plain value, or of a list of plain values, in traces."""
    if isinstance(value, (list, tuple)) and type(value).__repr__ in (list.__repr__, tuple.__repr__):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return repr(value) if isinstance(value, str) else str(value)


def not_modelled(*args: Any) -> Any:
    """Raise NotImplementedError for a PyTorch signature that the model does not have."""
    raise NotImplementedError("dispatchviz's model does not have the overload that these arguments ask for")


def check_out_type_matches(out: Tensor, dtype: DType | None, device: Device | None) -> None:
    """Raise RuntimeError if ``out`` does not have the ``dtype`` and the device type that are passed with it."""
    if dtype is not None and dtype is not out._dtype:
        raise RuntimeError(f"dtype {dtype.legacy} does not match dtype of out parameter ({out._dtype.legacy})")
    if device is not None and device.type != out._device.type:
        found = out._device.type
        raise RuntimeError(f"device type {device.type} does not match device type of out parameter ({found})")


class Binding:
    """A function or method of the ``torch`` namespace, with one implementation per signature."""

    def __init__(self, name: str, *overloads: Overload) -> None:
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = name
        self._function = self.__name__
        self._original: Binding = self
        """The function that ``__torch_function__`` receives."""
        self.overloads = overloads
        self.is_method = name.startswith("Tensor.")
        self._plans: dict[tuple[type, ...], Plan] = {}
        """Plans by the types of the arguments."""

    @cached_property
    def _run(self) -> list[Callable[..., Any]]:
        """The functions to run, in the order of the signatures."""
        return [_found(row[1]) for row in self.overloads]

    @cached_property
    def _parser(self) -> PythonArgParser:
        """The parser. It is created on first use, since a process has about a thousand bindings and calls few of
        them.
        """
        return PythonArgParser([text for text, *_ in self.overloads])

    @cached_property
    def _has_no_parameters(self) -> bool:
        return self.is_method and [s.parameters for s in self._parser.signatures] == [()]

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The signatures."""
        return "\n".join(signature.text for signature in self._parser.signatures)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'builtin_function_or_method' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<built-in {'method' if self.is_method else 'function'} {self.__name__}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None or not self.is_method else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the first overload whose signature fits. Raise TypeError if none does."""
        state = thread.state
        included, excluded, grad_mode = state.included, state.excluded, state.grad_mode
        saved = None if included == default_included_set else save_state()  # modes and transforms have more state
        try:
            plan = None
            if not kwargs:
                plan = self._plans.get((type(args[0]), type(args[1])) if len(args) == 2 else tuple(map(type, args)))
            if plan is None or (plan.ints and _has_too_large(args, plan.ints)):
                return self._parsed(args, kwargs)
            return self._run_plan(plan, args)
        except BaseException:
            state.included, state.excluded, state.grad_mode = included, excluded, grad_mode
            if saved is not None:
                restore_state(saved)
            raise

    def _parsed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if self.is_method:
            self._check_self(args)
            if (len(args) > 1 or kwargs) and self._has_no_parameters:
                raise TypeError(f"TensorBase.{self.__name__}() takes no arguments ({len(args) - 1} given)")
            index, values = self._parser.parse(args[1:], kwargs)
            values.insert(0, args[0])
        else:
            index, values = self._parser.parse(args, kwargs)
        plain = all(type(value) in _PLAIN for value in args)
        if kwargs or not plain:
            overloaded = overloaded_args(flattened(args, kwargs))
            if overloaded:
                return self.handle_torch_function(overloaded, args, kwargs)
        if not kwargs and (plain or not any(overrides(type(value)) for value in flattened(args, {}))):
            self._add_plan(index, args, values)
        return self._run_parsed(index, values)

    def _run_plan(self, plan: Plan, args: tuple[Any, ...]) -> Any:
        return plan.run(*args)

    def _run_parsed(self, index: int, values: list[Any]) -> Any:
        return self._run[index](*values)

    def _check_self(self, args: tuple[Any, ...]) -> None:
        """Raise Python's own TypeError if a method is called through its class without a tensor."""
        if not args:
            raise TypeError(f"unbound method TensorBase.{self.__name__}() needs an argument")
        if not isinstance(args[0], Tensor):
            found = type(args[0]).__name__
            raise TypeError(
                f"descriptor '{self.__name__}' for 'torch._C.TensorBase' objects doesn't apply to a '{found}' object"
            )

    def handle_torch_function(self, overloaded: list[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of a mode's or a class's ``__torch_function__`` (``handle_torch_function``). Raise
        TypeError if none returns one.
        """
        result = handle_torch_function(self._original, overloaded, args, kwargs)
        if result is NotImplemented:
            name = f"torch.Tensor.{self._function}" if self.is_method else self.__qualname__
            raise multiple_dispatch_failed(name, overloaded)
        return result

    def _call_under_modes(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``__call__`` while a TorchFunctionMode is active in some thread."""
        if not mode_enabled():
            return _call_without_modes(self, *args, **kwargs)
        saved = save_state()
        try:
            self._parser.parse(args[self.is_method :], kwargs)
            return self.handle_torch_function(overloaded_args(flattened(args, kwargs)), args, kwargs)
        except BaseException:
            restore_state(saved)
            raise

    def _add_plan(self, index: int, args: tuple[Any, ...], values: list[Any]) -> None:
        skip = int(self.is_method)
        numbers = self._parser.numbers_to_wrap(index, args[skip:], values[skip:])
        if numbers is None:
            return
        run, defaults = self._run[index], tuple(values[len(args) :])
        texts = tuple([value_text(value) for value in defaults])
        if defaults and len(self.overloads[index]) > 3:  # out is among the defaults: it is not given
            run, defaults = _found(self.overloads[index][3]), defaults[:-1]
        if defaults == _own_defaults(run, len(defaults)):
            defaults = ()
        types = tuple(map(type, args))
        tensors = tuple([issubclass(kind, Tensor) for kind in types])
        wrapped = tuple([i + skip for i in numbers])
        ints = tuple([i for i, kind in enumerate(types) if kind is int])
        complete = _completed(run, wrapped, defaults)
        self._plans[types] = Plan(complete, wrapped, ints, index, tensors, texts, _is_call(run))

    # -- recorded -----------------------------------------------------------------------------------------------------

    @cached_property
    def trace_description(self) -> tuple[str, str, list[tuple[str, tuple[str, ...], str]]]:
        """The facts that traces record: the binding's name, PyTorch's C++ function, and the text, parameters and
        operator of each signature.
        """
        first = ("self",) if self.is_method else ()
        signatures = [
            (signature.text, first + tuple(p.name for p in signature.parameters), row[2])
            for signature, row in zip(self._parser.signatures, self.overloads, strict=True)
        ]
        return self.__qualname__, f"THPVariable_{self._function}", signatures

    def _run_plan_recorded(self, plan: Plan, args: tuple[Any, ...]) -> Any:
        rec = recorder.active
        if rec is None or plan.numbers:  # the parser makes tensors of numbers before the binding is entered
            return self._parsed(args, {})
        rec.binding_called(self, plan, args)
        try:
            result = plan.run(*args)
        except BaseException as error:
            rec.error_raised(error)
            rec.note(LEAVE_UNLESS_OVER if plan.is_call else LEAVE)
            raise
        if not plan.is_call:
            rec.note(LEAVE)
        return result

    def _run_parsed_recorded(self, index: int, values: list[Any]) -> Any:
        rec = recorder.active
        if rec is None:
            return self._run[index](*values)
        rec.binding_entered(self, index, values)
        try:
            return self._run[index](*values)
        except BaseException as error:
            rec.error_raised(error)
            raise
        finally:
            rec.leave()


_PLAIN = frozenset((Tensor, int, float, complex, bool, type(None)))
"""Types without ``__torch_function__``. Other types may lack it too, but have to be looked up."""


_call_without_modes = Binding.__call__


process_modes.hot_function(
    Binding, "__call__", {NO_MODE: _call_without_modes, Mode.FUNCTION_MODES: Binding._call_under_modes}
)
process_modes.hot_function(
    Binding, "_run_plan", {NO_MODE: Binding._run_plan, Mode.RECORDING: Binding._run_plan_recorded}
)
process_modes.hot_function(
    Binding, "_run_parsed", {NO_MODE: Binding._run_parsed, Mode.RECORDING: Binding._run_parsed_recorded}
)


class Operator(Binding):
    """One of Python's operators, ``Tensor.__and__``. It returns NotImplemented where a function would raise a TypeError
    (``TypeError_to_NotImplemented_``).
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the binding. Return NotImplemented if it raises TypeError."""
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            self._check_self(args)
            return NotImplemented


class Alias(Operator):
    """The same binding under the name of a Python operator (``Tensor.__add__`` is ``Tensor.add``)."""

    def __init__(self, name: str, binding: Binding) -> None:
        super().__init__(name, *binding.overloads)
        self._function = binding.__name__
        self._original = binding


def bind(space: Mapping[str, Any], target: type) -> None:
    """Make the bindings of a module methods of a class."""
    for value in space.values():
        if isinstance(value, Binding) and value.is_method:
            setattr(target, value.__name__, value)
