"""Shared code of ``table``, ``why`` and ``keys``: find the named operator or key, print cards as text or JSON.

Neither this module nor anything that these commands import needs NumPy or a screen library, so they answer at once.
"""

from __future__ import annotations

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dispatchviz.core.table.operator_entry import OperatorEntry
    from dispatchviz.core.table.registry import Registry
    from dispatchviz.explain.cells.operator_names import Found
    from dispatchviz.explain.cells.releases.release import Release
    from dispatchviz.views.text.console import Console


def registry_of(build: str | None, release: Release | None = None) -> tuple[Registry, str]:
    """Return PyTorch's registrations, in an older release if there is one, and the name of their build. Raise
    DispatchvizError if the build does not exist.
    """
    from dispatchviz.core.table.pytorch_registrations import BuildError, chosen_build
    from dispatchviz.explain.cells.pytorch_tables import pytorch
    from dispatchviz.foundation.errors import DispatchvizError

    try:
        chosen = chosen_build(build)
    except BuildError as error:
        raise DispatchvizError(str(error)) from None
    return (pytorch(chosen) if release is None else release.registry(chosen)), chosen


def past_release(text: str | None) -> Release | None:
    """Return the release that ``--release`` names; None for the model's own. Raise DispatchvizError if it is not
    known.
    """
    if text is None:
        return None
    from dispatchviz.explain.cells.releases.release import release_named
    from dispatchviz.foundation.pytorch_release import MINOR

    found = release_named(text)
    return None if found.minor == MINOR else found


def operator_of(registry: Registry, text: str, release: Release | None = None) -> tuple[OperatorEntry, Found]:
    """Return the operator with this name. Raise DispatchvizError if the name is unknown or ambiguous, with the releases
    that have the operator if others do. ``release`` is the release of the registry, None for the model's own.
    """
    from dispatchviz.cli.other_meanings import with_meaning
    from dispatchviz.explain.cells.operator_names import REMOVED_TEXT, find_operator, means_one
    from dispatchviz.foundation.errors import DispatchvizError

    names = registry.names()
    try:
        found = find_operator(text, names)
    except DispatchvizError as error:
        message = str(error)
        if not means_one(text, names) and REMOVED_TEXT not in message:
            from dispatchviz.explain.cells.releases.release_names import in_other_releases

            message = in_other_releases(text, release) or with_meaning(message, text, but="an operator")
        raise DispatchvizError(message) from None
    return registry.find(found.name), found


def check_order(command: str, operator: str, keys: Sequence[str]) -> None:
    """Raise DispatchvizError, with the corrected command, if a key comes where the operator belongs."""
    from dispatchviz.explain.keys.key_names import known_key
    from dispatchviz.foundation.errors import DispatchvizError

    if keys and known_key(operator) is not None and known_key(keys[0]) is None:
        meant = " ".join([keys[0], operator, *keys[1:]])
        raise DispatchvizError(
            f"{operator} is a dispatch key, and the operator comes first: dispatchviz {command} {meant}"
        )


def remark(found: Found) -> str:
    """Return a remark that lists the other overloads, if the name allowed several; else an empty text."""
    if not found.others:
        return ""
    base = found.name.partition(".")[0]
    others = ", ".join(name.removeprefix(f"{base}.") if name != base else "default" for name in found.others)
    return f"{base} has other overloads, too: {others}"


def remark_lines(found: Found, console: Console) -> list[str]:
    """Return the remark as the last lines of a text."""
    text = remark(found)
    return ["", *console.wrapped(f"{text}.", 0)] if text else []


def print_json(value: Any) -> None:
    """Print a card, or a dictionary of cards, as JSON on standard output."""
    import json

    from msgspec import to_builtins

    from dispatchviz.foundation.terminal_output import print_json_lines

    def plain(part: Any) -> Any:
        return to_builtins(part, enc_hook=str)

    print_json_lines(json.dumps(_named(value), indent=2, ensure_ascii=False, default=plain).split("\n"))


def _named(value: Any) -> Any:
    """Turn cards into dictionaries. Most are named tuples, of which ``json`` would write a list."""
    if isinstance(value, dict):
        return {name: _named(part) for name, part in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    parts = [_named(part) for part in value]
    return dict(zip(value._fields, parts, strict=True)) if hasattr(value, "_fields") else parts
