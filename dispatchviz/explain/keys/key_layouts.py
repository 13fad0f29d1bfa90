"""The layout of key sets in each release, to read a raw set from an old backtrace.

Up to 1.11, every key had one bit. Since 1.12, a set has backend bits, lowest, and functionality bits above them. The
number of backends and the order of the functionalities changed from release to release. The facts are in
``key_layouts.json``, which ``truth/recorders/key_layouts.py`` reads from each release's own ``c10/core/DispatchKey.h``.

The keys of PyTorch 2.14, which everything else uses, are in ``core/keys/keys.py``.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from typing import NamedTuple

PREFIXES = ("Quantized", "SparseCsr", "Sparse", "NestedTensor", "Mkldnn", "Complex", "Autograd", "Autocast")
"""The prefixes of key names that end in the name of their backend."""


class Layout(NamedTuple):
    """The meaning of the bits of a set in some releases."""

    releases: tuple[str, ...]
    """The releases whose header was read: ``2.8.0``. Patch releases of the same minor version share its layout."""
    backends: tuple[str, ...]
    """The lowest bits; empty if every key had its own bit."""
    keys: tuple[str, ...]
    """The bits above them, lowest priority first."""
    per_backend: dict[str, str]
    """The prefix of a functionality's runtime keys: ``AutogradFunctionality`` to ``Autograd``."""
    aliases: tuple[str, ...]

    @property
    def span(self) -> str:
        """``1.12`` or ``2.8 to 2.12``."""
        first, last = minor(self.releases[0]), minor(self.releases[-1])
        return first if first == last else f"{first} to {last}"

    @property
    def names(self) -> frozenset[str]:
        """The names of all keys and aliases of the time."""
        runtime = {prefix + backend for prefix in self.per_backend.values() for backend in self.backends}
        return frozenset({*self.keys, *self.aliases} | runtime)

    def backend_names(self, raw: int) -> list[str]:
        """The backend bits of a set, lowest first."""
        return [name for bit, name in enumerate(self.backends) if raw >> bit & 1]

    def bit_names(self, raw: int) -> list[str]:
        """The keys (functionalities) of a set, lowest first."""
        return [name for bit, name in enumerate(self.keys, len(self.backends)) if raw >> bit & 1]

    def members(self, raw: int) -> list[str]:
        """The runtime keys of a set, lowest priority first."""
        return list(self._members(raw))

    def _members(self, raw: int) -> Iterator[str]:
        backends = self.backend_names(raw)
        for name in self.bit_names(raw):
            if name in self.per_backend:
                yield from (self.per_backend[name] + backend for backend in backends)
            else:
                yield name

    def unknown_bits(self, raw: int) -> list[int]:
        """The bits that no key had."""
        known = len(self.backends) + len(self.keys)
        return [bit for bit in range(known, raw.bit_length()) if raw >> bit & 1]

    def objection(self, raw: int) -> str:
        """The reason why the number is unlikely to be a set of this layout; empty if it can be one.

        Masks and excluded sets have functionality bits without a backend bit, so these bits are no objection.
        """
        if unknown := self.unknown_bits(raw):
            return f"bit {unknown[-1]} is no key"
        backends = self.backend_names(raw)
        if backends and not any(name in self.per_backend for name in self.bit_names(raw)):
            return f"the backend {backends[-1]} has no functionality"
        return "" if self.backends else self._lonely(raw)

    def _lonely(self, raw: int) -> str:
        """The objection that an autograd key is without its backend, in a layout where every key has its own bit."""
        names = self.bit_names(raw)
        there = {_device(name) for name in names if not name.startswith("Auto")}
        for name in names:
            own = name.startswith("Autograd") and name not in ("Autograd", "AutogradOther", "AutogradNestedTensor")
            if own and there and _device(name) not in there:
                return f"{name} is there without a tensor of that backend"
        return ""

    def usual(self, raw: int) -> bool:
        """Return whether it may be the set of an ordinary call: tensors of one backend, with their own autograd key."""
        if not self.backends:
            below = self.keys.index("BackendSelect")
            return sum(raw >> bit & 1 for bit in range(below)) < 2
        names, backends = self.bit_names(raw), self.backend_names(raw)
        own = "AutogradFunctionality" in names and backends
        return (
            len(backends) < 2
            and not (own and not any(name in self.per_backend for name in names if name != "AutogradFunctionality"))
            and not ("AutogradOther" in names and backends and backends[0] not in ("HIP", "VE"))
            and not ("AutogradNestedTensor" in names and "NestedTensor" not in names)
        )


def minor(release: str) -> str:
    """``2.8`` for ``2.8.0``."""
    return ".".join(release.split(".")[:2])


def _device(name: str) -> str:
    found = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    return name.removeprefix(found).removesuffix("TensorId")


@functools.cache
def layouts() -> tuple[Layout, ...]:
    """Every layout, oldest first. The last is that of the release whose rules apply here."""
    with open(os.path.join(os.path.dirname(__file__), "key_layouts.json"), encoding="utf-8") as file:
        entries = json.load(file)["layouts"]
    return tuple(
        Layout(
            tuple(entry["releases"]),
            tuple(entry["backends"]),
            tuple(entry["keys"]),
            entry["per_backend"],
            tuple(entry["aliases"]),
        )
        for entry in entries
    )


def layout_of(release: str) -> Layout | None:
    """The layout of a release (``1.12``, ``1.12.1``, ``v1.12``); None if it is not known."""
    wanted = minor(release.removeprefix("v"))
    return next((layout for layout in layouts() if wanted in map(minor, layout.releases)), None)


def releases_with(name: str) -> tuple[str, str] | None:
    """The first and last minor release that had a key of this name; None if no release had it."""
    found = [release for layout in layouts() if name in layout.names for release in layout.releases]
    return (minor(found[0]), minor(found[-1])) if found else None


def readings(raw: int) -> list[Layout]:
    """The past layouts in which a number makes sense, newest first; if it fits ordinary calls in some, only those."""
    fitting = [layout for layout in reversed(layouts()[:-1]) if not layout.objection(raw)]
    return [layout for layout in fitting if layout.usual(raw)] or fitting
