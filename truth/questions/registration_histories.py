"""Random histories of registrations, run through ``torch._C``: PyTorch's, or the model's, which has the same functions.

A history is a list of steps, each a list of strings:

    library NAME KIND NAMESPACE KEY      creates a library; NAMESPACE ns stands for one that only this history uses
    def_ NAME SCHEMA ALIAS               defines an operator (ALIAS: kind of alias analysis)
    def_legacy NAME SCHEMA
    define NAME SCHEMA ALIAS
    def_name_t_t NAME OPERATOR KEY DEBUG     a typed kernel that defines its operator
    def_schema_t_t NAME SCHEMA KEY ALIAS DEBUG
    impl_t_t NAME OPERATOR KEY DEBUG     a typed kernel, from a tensor to a tensor
    impl NAME OPERATOR KEY               a Python kernel
    fallback NAME KEY                    a Python fallback
    fallback_fallthrough NAME KEY
    find OPERATOR OVERLOAD
    reset NAME                           undoes the library's registrations
    drop NAME                            the same, by deleting the library

The answer holds the text of each step's error (null if there was none), and after each operator's registrations its
dump, its computed dispatch table, the valid entries of the stored table, and the result of the invariant check.

This module needs neither torch nor dispatchviz.
"""

from __future__ import annotations

import random
import re
from typing import Any

OPERATORS = ("foo", "bar.o")
SCHEMAS = (
    "foo(Tensor x) -> Tensor",
    "foo(Tensor x) -> Tensor",
    "foo(Tensor x) -> Tensor",
    "foo(Tensor(a!) x) -> Tensor(a!)",
    "bar.o(Tensor x) -> Tensor",
    "bar.o(Tensor? x=None) -> Tensor",
    "ns::foo(Tensor x) -> Tensor",
    "ns::bar.o(SymInt[2] x, Scalar y=1) -> (Tensor, Tensor)",
    "foo(int n) -> Tensor",
    "foo(Tensor x, *, SymInt n) -> Tensor",
    "other::foo(Tensor x) -> Tensor",
    "foo",
    "foo(Tensor x -> Tensor",
    "foo.default(Tensor x) -> Tensor",
    "foo(Tensr x) -> Tensor",
    "",
)
RUNTIME = (
    *("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA", "PrivateUse1", "Meta"),
    *("FPGA", "Vulkan", "Metal", "MkldnnCPU", "CustomRNGKeyId", "QuantizedCPU", "QuantizedCUDA", "SparseCPU"),
    *("SparseCUDA", "SparseCsrCPU", "NestedTensorCPU", "NestedTensorCUDA", "AutogradOther", "AutogradCPU"),
    *("AutogradCUDA", "AutogradXLA", "AutogradMeta", "AutogradNestedTensor", "AutogradPrivateUse1", "BackendSelect"),
    *("ADInplaceOrView", "Conjugate", "Python", "Tracer", "AutocastCPU", "FuncTorchBatched", "Functionalize", "Fake"),
)
ALIASES = (
    *("Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
    *("CompositeImplicitAutogradNestedTensor", "FuncTorchBatchedDecomposition"),
)
USELESS = ("", "", "Undefined", "Dense", "AutogradFunctionality", "NoSuchKey", "AutogradHIP", "CatchAll")
WITHOUT_FALLBACK = ("HIP", "VE", "IPU", "SparseCUDA", "AutogradIPU", "AutocastIPU", "PrivateUse2", "NestedTensorCPU")
"""Keys without a fallback in PyTorch, so that a history can add and remove one."""

KINDS_OF_ALIAS_ANALYSIS = ("", "", "", "CONSERVATIVE", "FROM_SCHEMA", "PURE_FUNCTION", "NONE")


# -- making histories -------------------------------------------------------------------------------------------------


def histories(seed: int, count: int) -> list[list[list[str]]]:
    """Random histories, always the same for a seed."""
    rng = random.Random(seed)
    return [_Maker(rng).steps() for _ in range(count)]


class _Maker:
    """A generator of one history."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.libraries: list[str] = []
        self.registered = 0

    def steps(self) -> list[list[str]]:
        length = self.rng.randrange(3, 14)
        first = [self._library("FRAGMENT", "ns", ""), self._library("IMPL", "_", "")]
        return [*first, *(self._step() for _ in range(length))]

    def _step(self) -> list[str]:
        roll = self.rng.random()
        if roll < 0.18:
            return self._any_library()
        if roll < 0.34:
            return self._definition()
        if roll < 0.76:
            return self._kernel()
        if roll < 0.83:
            return self._fallback()
        if roll < 0.88:
            return ["find", f"ns::{self.rng.choice(('foo', 'bar', 'baz'))}", self.rng.choice(("", "o"))]
        return [self.rng.choice(("reset", "reset", "drop")), self._of()]

    def _of(self) -> str:
        return self.rng.choice(self.libraries)

    def _library(self, kind: str, namespace: str, key: str) -> list[str]:
        name = f"l{len(self.libraries)}"
        self.libraries.append(name)
        return ["library", name, kind, namespace, key]

    def _any_library(self) -> list[str]:
        kind = self.rng.choice(("FRAGMENT", "FRAGMENT", "IMPL", "IMPL", "IMPL", "DEF", "WHAT"))
        namespace = self.rng.choice(("ns", "ns", "ns", "ns", "ns", "_", "other"))
        key = self._key() if kind == "IMPL" or self.rng.random() < 0.1 else ""
        return self._library(kind, namespace, key)

    def _key(self) -> str:
        roll = self.rng.random()
        return self.rng.choice(ALIASES if roll < 0.5 else USELESS if roll < 0.6 else RUNTIME)

    def _debug(self) -> str:
        self.registered += 1
        return "" if self.rng.random() < 0.1 else f"kernel_{self.registered}"

    def _definition(self) -> list[str]:
        schema, alias = self.rng.choice(SCHEMAS), self.rng.choice(KINDS_OF_ALIAS_ANALYSIS)
        return self.rng.choice(
            (
                ["def_", self._of(), schema, alias],
                ["def_legacy", self._of(), schema],
                ["define", self._of(), schema, alias],
                ["def_name_t_t", self._of(), self._operator(), self._key(), self._debug()],
                ["def_schema_t_t", self._of(), schema, self._key(), alias, self._debug()],
            )
        )

    def _operator(self) -> str:
        return self.rng.choice((*("foo",) * 6, "bar.o", "ns::foo", "ns::bar.o", "other::foo", "foo.default", "foo!"))

    def _kernel(self) -> list[str]:
        if self.rng.random() < 0.35:
            return ["impl", self._of(), self._operator(), self._key() or "CPU"]
        return ["impl_t_t", self._of(), self._operator(), self._key(), self._debug()]

    def _fallback(self) -> list[str]:
        key = self.rng.choice((*WITHOUT_FALLBACK, *WITHOUT_FALLBACK, "", "Undefined", "Meta", "Autograd", "Dense"))
        library = self.libraries[1] if self.rng.random() < 0.6 else self._of()
        if self.rng.random() < 0.5 and key:
            return ["fallback", library, key]
        return ["fallback_fallthrough", library, key]


ONE_OF_THEM = re.compile(r"\n    \S.*\n  reason")
"""The part of an error that names one of several kernels that do not fit: PyTorch names the first one of a hash map."""


# -- running them -----------------------------------------------------------------------------------------------------


def normalized(text: str) -> str:
    """A text without PyTorch's build folder and addresses of objects."""
    return re.sub(r"0x[0-9a-f]+>", "0x>", text.replace("/__w/pytorch/pytorch/", ""))


class History:
    """A run of one history on a ``torch._C``, with dumps of the operators afterwards."""

    def __init__(self, C: Any, number: int) -> None:
        self.C = C
        self.namespace = f"history{number}__"
        self.libraries: dict[str, Any] = {}
        self.wildcards: set[str] = set()
        """Libraries of the wildcard namespace."""

    def run(self, steps: list[list[str]]) -> dict[str, Any]:
        """The errors by step, and the operators afterwards."""
        errors = [self._attempt(*step) for step in steps]
        fallbacks = "".join("01"[self.C._dispatch_has_backend_fallback(key)] for key in (*WITHOUT_FALLBACK, "Dense"))
        seen = {"errors": errors, "fallbacks": fallbacks, "operators": [self._seen(name) for name in OPERATORS]}
        for library in reversed(self.libraries.values()):
            library.reset()
        self.libraries.clear()
        gone = [self.C._dispatch_dump(f"{self.namespace}::{name}") for name in OPERATORS]
        return seen | {"gone": [self._shown(text) for text in gone]}

    def _shown(self, text: str) -> str:
        return normalized(text).replace(self.namespace, "ns")

    def _own(self, text: str) -> str:
        """A text in which ``ns`` and ``other`` are replaced by this history's own namespaces."""
        if text in ("ns", "other"):
            return text.replace("ns", self.namespace).replace("other", f"other_{self.namespace}")
        return re.sub(r"^other::", f"other_{self.namespace}::", re.sub(r"^ns::", f"{self.namespace}::", text))

    def _attempt(self, verb: str, *args: str) -> str | None:
        try:
            getattr(self, f"do_{verb}")(*map(self._own, args))
        except (RuntimeError, TypeError) as error:
            text = f"{type(error).__name__}: {self._shown(str(error))}"
            return ONE_OF_THEM.sub("\n    a kernel\n  reason", text) if verb.startswith("def") else text
        return None

    def _seen(self, name: str) -> list[Any]:
        C, full = self.C, f"{self.namespace}::{name}"
        state = C._dispatch_dump(full)
        if not state:
            return []
        valid = "".join("01"[C._dispatch_has_computed_kernel_for_dispatch_key(full, key)] for key in RUNTIME)
        return [self._shown(state), self._shown(C._dispatch_dump_table(full)), valid, self._invariants(full)]

    def _invariants(self, full: str) -> str | None:
        try:
            self.C._dispatch_check_invariants(full)
        except RuntimeError as error:
            return self._shown(str(error))
        return None

    # -- steps

    def do_library(self, name: str, kind: str, namespace: str, key: str) -> None:
        self.libraries[name] = self.C._dispatch_library(kind, namespace, key)
        if namespace == "_":
            self.wildcards.add(name)

    def _call(self, name: str, verb: str, *args: Any) -> None:
        if name in self.libraries:
            getattr(self.libraries[name], verb)(*args)

    def do_def_(self, name: str, *args: str) -> None:
        self._call(name, "def_", *args)

    def do_def_legacy(self, name: str, *args: str) -> None:
        self._call(name, "def_legacy", *args)

    def do_define(self, name: str, *args: str) -> None:
        self._call(name, "define", *args)

    def do_def_name_t_t(self, name: str, *args: str) -> None:
        self._call(name, "def_name_t_t", *args)

    def do_def_schema_t_t(self, name: str, *args: str) -> None:
        self._call(name, "def_schema_t_t", *args)

    def do_impl_t_t(self, name: str, operator: str, *args: str) -> None:
        if not self._would_crash(name, operator):
            self._call(name, "impl_t_t", operator, *args)

    def do_impl(self, name: str, operator: str, key: str) -> None:
        if not self._would_crash(name, operator):
            self._call(name, "impl", operator, key, _identity)

    def _would_crash(self, name: str, operator: str) -> bool:
        """Return whether PyTorch's process would crash: a library of the wildcard namespace gets a name without
        namespace.
        """
        return name in self.wildcards and "::" not in operator

    def do_fallback(self, name: str, key: str) -> None:
        self._call(name, "fallback", key, _identity)

    def do_fallback_fallthrough(self, name: str, key: str) -> None:
        self._call(name, "fallback_fallthrough", key)

    def do_find(self, name: str, overload: str) -> None:
        self.C._dispatch_find_schema_or_throw(name, overload)

    def do_reset(self, name: str) -> None:
        self._call(name, "reset")

    def do_drop(self, name: str) -> None:
        self.libraries.pop(name, None)


def _identity(*args: Any) -> Any:
    """The Python kernel, which is never called."""
    return args[0]
