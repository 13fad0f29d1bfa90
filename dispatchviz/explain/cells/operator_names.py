"""Operators by the names that people type: ``add``, ``torch.add``, ``aten.add.Tensor``, ``torch.ops.aten.add.Tensor``.

A name without an overload means the overload without a name, else ``Tensor``, else the only overload. Otherwise, the
overload has to be named.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from dispatchviz.foundation.errors import DispatchvizError

USUAL = ("", "Tensor")
"""The overloads that a bare name means, best first."""

PYTHON = ("torch.ops.", "ops.", "torch.Tensor.", "Tensor.", "torch.nn.functional.", "nn.functional.", "F.", "torch.")
"""The prefixes of operator names in Python programs."""


REMOVED = {"cholesky": ("2.14", "aten::linalg_cholesky"), "qr": ("2.14", "aten::linalg_qr")}
"""Operators that PyTorch no longer has, without overload -> the release that removed them, and the replacement."""


REMOVED_TEXT = "was removed in"


class Found(NamedTuple):
    """An operator that a name means."""

    name: str
    """The full name: ``aten::add.Tensor``."""
    others: tuple[str, ...]
    """The operator's other overloads, if the name left the choice open."""


def find_operator(text: str, names: Collection[str]) -> Found:
    """Find the operator that a text means. Raise DispatchvizError, with suggestions, if it is unknown or ambiguous."""
    for base, overload in _readings(text, names):
        overloads = overloads_of(base, names)
        if overload is not None and (full := joined(base, overload)) in names:
            return Found(full, ())
        if overload is None and overloads:
            return _usual(base, overloads)
        if overload and overloads:
            raise DispatchvizError(f"{base} has no overload {overload!r}; its overloads are {_listed(base, overloads)}")
    raise DispatchvizError(unknown_operator(text, _meant(text, names)))


def unknown_operator(text: str, meant: str) -> str:
    """The message about an operator that PyTorch does not have, or no longer."""
    base = text
    for prefix in ("aten::", *PYTHON):
        base = base.removeprefix(prefix)
    if removed := REMOVED.get(base.partition(".")[0]):
        release, replacement = removed
        return f"the operator {text!r} {REMOVED_TEXT} {release}; use {replacement}"
    return f"there is no operator {text!r}{meant}"


def overloads_of(base: str, names: Collection[str]) -> list[str]:
    """Return the operators with a name, without overload, in order."""
    return [name for name in names if name.startswith(base) and name.partition(".")[0] == base]


def every_operator(text: str, names: Collection[str]) -> list[str]:
    """Find all operators that a text means: every overload if none is named. Raise DispatchvizError as
    ``find_operator``.
    """
    for base, overload in _readings(text, names):
        overloads = overloads_of(base, names)
        found = overloads if overload is None else [name for name in overloads if name == joined(base, overload)]
        if found:
            return found
        if overload and overloads:
            raise DispatchvizError(f"there is no call of {base}.{overload}, only of {_listed(base, overloads)}")
    raise DispatchvizError(f"there is no call of an operator {text!r}{_meant(text, names) or _some(names)}")


def means_one(text: str, names: Collection[str]) -> bool:
    """Return whether ``every_operator`` finds one."""
    try:
        return bool(every_operator(text, names))
    except DispatchvizError:
        return False


def _some(names: Collection[str]) -> str:
    bases = list(dict.fromkeys(name.partition(".")[0].removeprefix("aten::") for name in names))
    return f"; there are calls of {', '.join(bases[:MOST])}{', ...' if len(bases) > MOST else ''}"


MOST = 12
"""The number of operators that an error lists."""


def _usual(base: str, overloads: list[str]) -> Found:
    wanted = [joined(base, overload) for overload in USUAL]
    chosen = next((name for name in wanted if name in overloads), overloads[0] if len(overloads) == 1 else "")
    if not chosen:
        raise DispatchvizError(f"{base} has {len(overloads)} overloads, name one of them: {_listed(base, overloads)}")
    return Found(chosen, tuple(name for name in overloads if name != chosen))


def _readings(text: str, names: Collection[str]) -> list[tuple[str, str | None]]:
    """The possible readings of a text, likeliest first: operator and overload, None for no overload."""
    plain = text.strip().removesuffix("(")
    if "::" in plain:
        namespace, _, rest = plain.partition("::")
        return [_split(namespace, rest)]
    plain = plain.removeprefix(next((prefix for prefix in PYTHON if plain.startswith(prefix)), ""))
    head, _, rest = plain.partition(".")
    if rest and any(name.startswith(f"{head}::") for name in names):
        return [_split(head, rest)]
    return [_split("aten", plain)] + [("aten::" + plain.rpartition(".")[2], None)] * ("." in plain)


def _split(namespace: str, rest: str) -> tuple[str, str | None]:
    name, dot, overload = rest.partition(".")
    return f"{namespace}::{name}", ("" if overload == "default" else overload) if dot else None


def joined(base: str, overload: str) -> str:
    """``aten::add.Tensor``; without an overload, ``aten::sum``."""
    return f"{base}.{overload}" if overload else base


def _listed(base: str, overloads: list[str]) -> str:
    return ", ".join(name.removeprefix(f"{base}.") if name != base else "default" for name in overloads)


def _meant(text: str, names: Collection[str]) -> str:
    close = close_operators(text, names)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def close_operators(text: str, names: Collection[str]) -> list[str]:
    """The names of operators, without overload, that are similar to a text."""
    import difflib

    bases = {name.partition(".")[0] for name in names}
    by_short = {name.partition("::")[2]: name for name in sorted(bases, key=lambda name: name.startswith("aten::"))}
    short = _readings(text, names)[0][0].partition("::")[2]
    return [by_short[found] for found in difflib.get_close_matches(short, by_short, 3, 0.6)]
