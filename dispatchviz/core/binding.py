"""A Python binding: parse the arguments, then call the C++ side (``torch/csrc/autograd/generated/python_*.cpp``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

from dispatchviz.core import recorder
from dispatchviz.core.python_arg_parser import PythonArgParser, number_as_tensor
from dispatchviz.core.recorder import Recorder
from dispatchviz.core.tensor import Tensor

Overload = tuple[Any, ...]
"""Signature, what runs when it matches, the operator that it calls; where out= is its last parameter, what may run
without it."""


Plan = tuple[Callable[..., Any], tuple[Any, ...], tuple[int, ...]]
"""For argument types met before: what runs, defaults of the other parameters, positions of numbers to wrap."""


def _wrapped(args: tuple[Any, ...], numbers: tuple[int, ...]) -> list[Any]:
    """The arguments with Python numbers as 0-dim tensors."""
    return [number_as_tensor(value) if i in numbers else value for i, value in enumerate(args)]


def not_modelled(*args: Any) -> Any:
    """What runs for a signature of PyTorch's that the model does not have."""
    raise NotImplementedError("dispatchviz's model does not have the overload that these arguments ask for")


class Binding:
    """A function or method of the torch-shaped face, with one implementation per signature."""

    def __init__(self, name: str, overloads: tuple[Overload, ...]) -> None:
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = name
        self._function = self.__name__
        self.overloads = overloads
        self.is_method = name.startswith("Tensor.")
        self._parser = PythonArgParser([text for text, *_ in overloads])
        self.__doc__ = "\n".join(signature.text for signature in self._parser.signatures)
        self._takes_nothing = self.is_method and [s.parameters for s in self._parser.signatures] == [()]
        self._plans: dict[tuple[type, ...], Plan] = {}
        self._run: list[Callable[..., Any]] = [row[1] for row in overloads]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'builtin_function_or_method' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<built-in {'method' if self.is_method else 'function'} {self.__name__}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None or not self.is_method else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the first overload whose signature fits. TypeError if none does."""
        if not kwargs and recorder.active is None:
            plan = self._plans.get(tuple(map(type, args)))
            if plan is not None:
                run, defaults, numbers = plan
                return run(*(_wrapped(args, numbers) if numbers else args), *defaults)
        return self._parsed(args, kwargs)

    def _parsed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if self.is_method:
            if self._takes_nothing and (len(args) > 1 or kwargs):
                raise TypeError(f"TensorBase.{self.__name__}() takes no arguments ({len(args) - 1} given)")
            index, values = self._parser.parse(args[1:], kwargs)
            values.insert(0, args[0])
        else:
            index, values = self._parser.parse(args, kwargs)
        if not kwargs and recorder.active is None:
            self._remember(index, args, values)
        if recorder.active is None:
            result = self._run[index](*values)
        else:
            result = self._watched(recorder.active, index, values)
        return result if all(type(value) in _PLAIN for value in args) else _of_subclass(result, args, kwargs)

    def _remember(self, index: int, args: tuple[Any, ...], values: list[Any]) -> None:
        skip = int(self.is_method)
        numbers = self._parser.numbers_to_wrap(index, args[skip:], values[skip:])
        if numbers is not None:
            run, defaults = self._run[index], tuple(values[len(args) :])
            if defaults and len(self.overloads[index]) > 3:  # out is among the defaults: it is not given
                run, defaults = self.overloads[index][3], defaults[:-1]
            self._plans[tuple(map(type, args))] = (run, defaults, tuple(i + skip for i in numbers))

    def _watched(self, rec: Recorder, index: int, values: list[Any]) -> Any:
        _, run, operator = self.overloads[index][:3]
        signature = self._parser.signatures[index]
        names = [p.name for p in signature.parameters]
        given = zip(["self", *names] if self.is_method else names, values, strict=True)
        rec.binding_entered(
            self.__qualname__, f"THPVariable_{self._function}", signature.text, index + 1, list(given), operator
        )
        try:
            return run(*values)
        except BaseException as error:
            rec.error_raised(error)
            raise
        finally:
            rec.leave()


_PLAIN = frozenset((Tensor, int, float, complex, bool, type(None)))
"""Types of arguments that leave results what they are; so do others, but that has to be looked at."""


def _of_subclass(result: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The result as an instance of the arguments' subclass of Tensor, if they are of one that wants that."""
    from dispatchviz.core.tensor_subclass import class_of_results, converted  # which needs bindings for its own work

    cls = class_of_results((*args, *kwargs.values()))
    return result if cls is None else converted(result, cls)


class Alias(Binding):
    """The same binding under a user's name (``Tensor.__add__`` is ``Tensor.add``): answers NotImplemented, as Python's
    operators do, where the function would raise a TypeError."""

    def __init__(self, name: str, binding: Binding) -> None:
        super().__init__(name, binding.overloads)
        self._function = binding.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As the binding."""
        try:
            return super().__call__(*args, **kwargs)
        except TypeError:
            return NotImplemented


def bind(space: Mapping[str, Any], target: type) -> None:
    """Makes the bindings of a module methods of a class."""
    for value in space.values():
        if isinstance(value, Binding) and value.is_method:
            setattr(target, value.__name__, value)
