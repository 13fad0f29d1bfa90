"""``torch._python_dispatcher``: the dispatch table of an operator whose registered kernels do nothing.

PyTorch keeps this class for explaining the dispatcher; it has one key of each kind of use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dispatchviz.torch import _C

_IN_PYTORCH = re.compile(r"registered at .*FallbackKernel\.cpp.*(?=\[)")
"""The registration place of a backend fallback, which these tables omit."""


class PythonDispatcher:
    """One operator, ``__test__::foo(Tensor x) -> Tensor``, which is destroyed with the object."""

    namespace = "__test__"
    name = "foo"
    runtime_keys = ["CPU", "AutogradCPU", "FPGA", "AutogradOther", "XLA", "AutogradXLA", "Lazy", "AutogradLazy"]  # noqa: RUF012
    alias_keys = ["CompositeExplicitAutograd", "Autograd", "CompositeImplicitAutograd"]  # noqa: RUF012
    supported_keys = runtime_keys + alias_keys

    def __init__(self) -> None:
        _C._dispatch_check_invariants(self.name)
        self.ref = _C._dispatch_library("FRAGMENT", self.namespace, "")
        self.ref.def_("foo(Tensor x) -> Tensor")

    def keys(self) -> list[str]:
        """Return the keys for which kernels can be registered."""
        return self.supported_keys

    def register(self, dispatchKeys: Sequence[str]) -> None:
        """Register the kernel ``fn_KEY`` for each key. Raise RuntimeError for an unknown or repeated key."""
        if len(set(dispatchKeys)) != len(dispatchKeys):
            raise RuntimeError(f"Overridden is not allowed but found duplicates in {dispatchKeys}.")
        if {"CompositeImplicitAutograd", "CompositeExplicitAutograd"} <= set(dispatchKeys):
            raise RuntimeError(
                "Registration to both CompositeImplicitAutograd and CompositeExplicitAutograd is not allowed."
            )
        for key in dispatchKeys:
            if key not in self.supported_keys:
                raise RuntimeError(f"{key} is not supported, please select a dispatch key in {self.supported_keys}.")
            self.ref.impl_t_t("foo", dispatch=key, debug=f"fn_{key}")

    def rawRegistrations(self) -> str:
        """Return the registrations in the format of PyTorch's dump."""
        return _C._dispatch_dump(f"{self.namespace}::{self.name}")

    def rawDispatchTable(self) -> str:
        """Return every valid entry of the dispatch table in the format of PyTorch's dump."""
        return _C._dispatch_dump_table(f"{self.namespace}::{self.name}")

    def registrations(self) -> str:
        """Return a table of the registered kernels."""
        rows = [row.split(": ", 1) for row in self.rawRegistrations().splitlines()]
        ours = [(key, rest.partition(" ")[0]) for key, rest in rows if key.startswith(tuple(self.supported_keys))]
        return self._table("Registered Kernels", ours)

    def dispatchTable(self) -> str:
        """Return a table of the dispatch table entries of ``runtime_keys``."""
        rows = [row.split(": ", 1) for row in self.rawDispatchTable().splitlines()]
        ours = [(key, _IN_PYTORCH.sub("", rest)) for key, rest in rows if key in self.runtime_keys]
        return self._table("Computed Dispatch Table", ours)

    def _table(self, title: str, rows: Sequence[tuple[str, str]]) -> str:
        head = f"\n{title}\n{self._line('key', 'kernel')}---------------------------\n"
        return head + "".join(self._line(*row) for row in rows)

    def _line(self, key: str, kernel: str) -> str:
        return f"{key:<15} {kernel}\n"
