"""The operators whose kernels are watched: where their tensors are among the arguments, and the contents of their cells
according to the installed build's own registrations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.table.precedence import FALLBACK
from dispatchviz.core.table.registry import Registry
from dispatchviz.live.installed_registrations import InstalledPyTorch
from dispatchviz.live.registration import Registration, filled_cells
from dispatchviz.live.wrapped_numbers import KINDS

if TYPE_CHECKING:
    from dispatchviz.live.number_watch import CellEffects

_TENSOR = ("Tensor", "Optional[Tensor]")
_TENSORS = ("List[Tensor]", "Optional[List[Tensor]]", "List[Optional[Tensor]]")

IN_PLACE_VIEWS = frozenset({"aten::as_strided_", "aten::squeeze_", "aten::t_", "aten::transpose_", "aten::unsqueeze_"})
"""In-place operators, without overload names, whose autograd kernel sets a history and does not rebase one
(``emit_history`` in ``tools/autograd/gen_variable_type.py``: those that are named like a view).
"""

FIRST = 1
"""The position of a kernel's first argument. The key set comes before it."""


class WatchedOperator:
    """An operator, by its full name with overload."""

    def __init__(self, name: str, schema: Any, entry: Callable[[], OperatorEntry]) -> None:
        self.name = name
        self._entry = entry
        self._cells: dict[str, Cell] = {}
        arguments = [(argument.name, str(argument.type)) for argument in schema.arguments]
        self.numbers = frozenset(i for i, (_, kind) in enumerate(arguments, FIRST) if kind in _TENSOR)
        """Positions of parameters that may receive a wrapped number."""
        kinds = enumerate(arguments, FIRST)
        self.tensors = tuple((place, name, kind in _TENSORS) for place, (name, kind) in kinds if _has_tensors(kind))
        """Position, name and whether it is a list, for each parameter whose keys count."""
        self.one_tensor = [str(returned.type) for returned in schema.returns] == ["Tensor"]
        self.returns = tuple([returned.name for returned in schema.returns])
        """The names of the returns in the schema; empty if they have none."""
        generators = [(i, n) for i, (n, kind) in enumerate(arguments, FIRST) if kind == "Optional[Generator]"]
        self.generator = generators[0] if generators else None
        """Position and name of the parameter for a random generator, whose key counts."""
        returns_it = any(one.alias_info is not None and one.alias_info.is_write for one in schema.returns)
        self.is_in_place_view = name.partition(".")[0] in IN_PLACE_VIEWS
        self.rebases = returns_it and not self.is_in_place_view
        """True if it returns the tensor that it writes to, with a history that continues the earlier one
        (``modifies_arguments`` in torchgen). An operator that only updates ``running_mean`` beside its results rebases
        nothing.
        """

    def cell(self, key: str) -> Cell:
        """Return the entry of the operator's dispatch table for a key."""
        known = self._cells.get(key)
        if known is None:
            entry = self._entry()
            known = self._cells[key] = entry.table[entry.cell_of(DispatchKey[key])]
        return known

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the tensors in a call, given its key set and arguments."""
        many = len(args)
        for place, name, is_list in self.tensors:
            value = args[place] if place < many else kwargs.get(name)
            yield from (value or ()) if is_list else (value,)

    def generator_among(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the random generator among the arguments of a call, or None."""
        if self.generator is None:
            return None
        place, name = self.generator
        return args[place] if place < len(args) else kwargs.get(name)

    def is_given_number(self, args: tuple[Any, ...]) -> bool:
        """Return whether a call, given its key set and arguments, has a number where a tensor is expected."""
        many = len(args)
        for place in self.numbers:  # noqa: SIM110  a generator would take twice as long
            if place < many and type(args[place]) in KINDS:
                return True
        return False

    def with_tensors(self, args: tuple[Any, ...], wrapped: Callable[[complex], Any]) -> tuple[Any, ...]:
        """Return the key set and the arguments, with tensors for numbers where a tensor is expected."""
        numbers = self.numbers
        for place, value in enumerate(args):
            if type(value) in KINDS and place in numbers:
                return tuple([wrapped(a) if i in numbers and type(a) in KINDS else a for i, a in enumerate(args)])
        return args


class WatchedCell:
    """A cell with a kernel of ours in front."""

    __slots__ = (
        "calls_again",
        "effects",
        "is_autograd",
        "is_in_front",
        "is_python",
        "key",
        "name",
        "operator",
        "operators",
        "redispatches",
        "runs_python",
    )

    def __init__(self, operators: WatchedOperators, name: str, key: str, is_python: bool) -> None:
        self.is_python = is_python
        """True if the original kernel is a Python function, which receives numbers unchanged."""
        self.operators, self.name, self.key = operators, name, key
        self.runs_python = is_python or key == "Python" or not name.startswith("aten::")
        """True if the kernel may be or call a Python function of the program."""
        self.calls_again = key in CALLING_AGAIN
        self.is_autograd = key[:8] == "Autograd"
        self.effects: CellEffects | None = None
        """The effects on numbers, if they have been needed."""
        self.is_in_front = key == "FuncTorchDynamicLayerFrontMode" and not is_python

    operator: WatchedOperator
    redispatches: WatchedOperator
    """The operator that the kernel redispatches, if it redispatches at all."""


class UnmetCell(WatchedCell):
    """A cell whose operator has not been needed yet, which holds for most cells. Once it is, the object becomes a
    ``WatchedCell``, because attributes of a class with ``__getattr__`` are slow to reach.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """Read the operator, and return the attribute."""
        if name not in ("operator", "redispatches"):
            raise AttributeError(name)
        self.operator = self.redispatches = self.operators.of(self.name)
        if (self.name, self.key) in REDISPATCHING_ANOTHER:
            self.redispatches = self.operators.of(REDISPATCHING_ANOTHER[self.name, self.key])
        self.__class__ = WatchedCell  # type: ignore[assignment]  # both have the same slots
        return getattr(self, name)


REDISPATCHING_ANOTHER = {("aten::sub.Tensor", "ZeroTensor"): "aten::add.Tensor"}
"""The kernels that redispatch an operator other than their own, by operator and key, with that operator
(``sub_zerotensor`` in ``aten/src/ATen/native/BinaryOps.cpp``).
"""

CALLING_AGAIN = frozenset(
    (
        *("FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchVmapMode", "FuncTorchBatched"),
        *("FuncTorchDynamicLayerBackMode", "Functionalize", "AutocastCPU", "AutocastCUDA", "Python"),
    )
)
"""Keys whose kernels never redispatch, so each of their calls is a new call. Any kernel calls again at its own key, as
forward formulas do.
"""


class WatchedOperators:
    """The operators of a process. Each is made when it is first watched."""

    def __init__(self, c: Any) -> None:
        self._c = c
        self._made: dict[str, WatchedOperator] = {}
        self._build: InstalledPyTorch | None = None
        self._registry: Registry | None = None

    def read(self, build: InstalledPyTorch) -> None:
        """Read all registrations, before any cell is watched."""
        build.read_before_ours()
        self._build, self._registry = build, build.registry()

    def called(self) -> list[str]:
        """Return the names of the operators whose kernels were seen to run, sorted."""
        return sorted(self._made)

    # -- registrations that change ------------------------------------------------------------------------------------

    def forget(self, name: str) -> None:
        """Read the registrations of an operator again, because they have changed. None of our kernels is among them at
        this point.
        """
        assert self._build is not None
        self._made.pop(name, None)
        self._build.forget(name)

    def is_defined(self, name: str) -> bool:
        """Return whether an operator with this name exists."""
        return self._registry is not None and name in self._registry.operators

    def registered(self, name: str) -> Iterator[tuple[Registration, str]]:
        """Yield the kernels of an operator with their names, as they were read."""
        assert self._build is not None
        return self._build.named(name)

    def definition(self, name: str) -> tuple[str, int, int]:
        """Return an operator's schema as PyTorch prints it, the number of cells that fallbacks fill, and the number
        that its kernels fill.
        """
        assert self._build is not None
        filled = filled_cells(
            self._c._dispatch_dump_table(name)
        ).values()  # no kernel of ours is among its registrations
        fallbacks = sum(reason == FALLBACK for _, reason, _ in filled)
        return self._build.definition(name).schema, fallbacks, len(filled) - fallbacks

    def of(self, name: str) -> WatchedOperator:
        """Return the operator with a full name."""
        known = self._made.get(name)
        if known is None:
            schema = self._c._get_schema(*name.partition(".")[::2])
            known = self._made[name] = WatchedOperator(name, schema, lambda: self._find(name))
        return known

    def _find(self, name: str) -> OperatorEntry:
        """Return the entry of an operator. Its schema may have types that ours do not have."""
        assert self._registry is not None
        return self._registry.operators[name]


def _has_tensors(kind: str) -> bool:
    return kind in _TENSOR or kind in _TENSORS
