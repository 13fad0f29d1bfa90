"""Registrations that must give the same operator in every order in which they are made and undone.

A case is a list of registrations of the operator ``foo``, each a call of a library's test helper. An operator depends
only on the set of its active registrations. ``by_subset`` returns PyTorch's operator for every subset; ``every_order``
makes the registrations in all orders and checks after every step.

This module needs neither torch nor dispatchviz.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

DEF, DEF_2 = ["def_", "foo(Tensor x) -> Tensor"], ["def_", "foo(Tensor x, Tensor y) -> Tensor"]
NAME = ["def_name_t_t", "foo"]


def _impl(key: str) -> list[str]:
    return ["impl_t_t", "foo", key, f"fn_{key}"]


CASES: dict[str, list[list[str]]] = {
    "definition": [DEF_2],
    "definition and kernels": [DEF, _impl(""), _impl("CPU"), _impl("Autograd"), _impl("AutogradCPU")],
    "kernels alone": [_impl(""), _impl("CPU"), _impl("Autograd"), _impl("AutogradCPU")],
    "inferred schema": [NAME, _impl("CPU"), _impl("XLA"), _impl("Autograd"), _impl("AutogradCPU")],
    "composite": [DEF, _impl("CompositeImplicitAutograd")],
    "composite and backend": [DEF, _impl("CPU"), _impl("CompositeImplicitAutograd")],
    "composite, backend, autograd": [DEF, _impl("CPU"), _impl("Autograd"), _impl("CompositeImplicitAutograd")],
    "ambiguous": [DEF, _impl("CompositeImplicitAutograd"), _impl("FPGA")],
    "default backend": [DEF, _impl("CPU"), _impl("CompositeExplicitAutograd")],
    "default backend, autograd": [DEF, _impl("CPU"), _impl("Autograd"), _impl("CompositeExplicitAutograd")],
    "nested": [DEF, _impl("CompositeImplicitAutogradNestedTensor"), _impl("NestedTensorCPU"), _impl("Autograd")],
    "batched": [DEF, _impl("FuncTorchBatchedDecomposition"), _impl("FuncTorchBatched"), _impl("Meta")],
    "alias analysis": [["def_", "foo(Tensor x, Tensor y) -> Tensor", "PURE_FUNCTION"]],
    "mismatch": [DEF_2, _impl("")],
    "two definitions": [DEF, ["def_legacy", "foo(Tensor x) -> Tensor"]],
}


class Orders:
    """The registrations of one case on one ``torch._C``."""

    def __init__(self, C: Any, registrations: Sequence[list[str]]) -> None:
        self.C = C
        self.registrations = registrations
        self.libraries: dict[int, Any] = {}

    def make(self, number: int) -> str | None:
        """Make a registration, and return the text of its error, or None."""
        library = self.libraries[number] = self.C._dispatch_library("FRAGMENT", "orders", "")
        verb, *args = self.registrations[number]
        try:
            getattr(library, verb)(*args)
        except RuntimeError as error:
            return str(error)
        return None

    def undo(self, number: int) -> None:
        """Undo a registration by deleting its library."""
        del self.libraries[number]

    def seen(self) -> list[str]:
        """The registrations and the dispatch table. The invariant check must pass."""
        self.C._dispatch_check_invariants("orders::foo")
        dumps = self.C._dispatch_dump("orders::foo"), self.C._dispatch_dump_table("orders::foo")
        return [dump.replace("/__w/pytorch/pytorch/", "") for dump in dumps]


def by_subset(C: Any, registrations: Sequence[list[str]]) -> dict[str, list[str] | str]:
    """The dumps, or the error of the last registration, by the numbers of the active registrations."""
    count = len(registrations)
    subsets = (chosen for size in range(count + 1) for chosen in combinations(range(count), size))
    return {_name(chosen): _one(Orders(C, registrations), chosen) for chosen in subsets}


def _one(orders: Orders, chosen: Sequence[int]) -> list[str] | str:
    errors = [orders.make(number) for number in chosen]
    return next((error for error in errors if error), None) or orders.seen()


def every_order(C: Any, registrations: Sequence[list[str]]) -> Iterator[tuple[str, list[str] | str]]:
    """Register in every order and deregister in two orders; yield the active registrations and the dumps after every
    step.

    After an error, the refused registration is not active.
    """
    for order in permutations(range(len(registrations))):
        for undoing in (order, order[::-1]):
            yield from _in_order(Orders(C, registrations), order, undoing)


def _in_order(orders: Orders, order: Sequence[int], undoing: Sequence[int]) -> Iterator[tuple[str, list[str] | str]]:
    there: set[int] = set()
    for number in order:
        error = orders.make(number)
        if error:
            yield _name({*there, number}), error
            orders.undo(number)
        else:
            there.add(number)
        yield _name(there), orders.seen()
    for number in undoing:
        if number in there:
            orders.undo(number)
            there.remove(number)
        yield _name(there), orders.seen()


def _name(numbers: Any) -> str:
    return "".join(map(str, sorted(numbers)))
