"""Many runtime keys as text: ``the 16 Dense keys``, ``14 of the 16 Sparse keys``, ``BackendSelect and Python``."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dispatchviz.core.keys.keys import CUSTOMIZABLE, NUM_BACKENDS, DispatchKey
from dispatchviz.foundation.english import listed

K = DispatchKey

TITLES = {K.Dense: "dense backend", K.AutogradFunctionality: "Autograd"}
"""What the keys of a functionality are called, where that is not its own name."""

FEW = 4
"""Up to so many keys of one functionality are named one by one."""


def grouped_keys_text(keys: Collection[DispatchKey]) -> str:
    """The keys, grouped by functionality, in cell order."""
    return listed(list(grouped(keys)))


def grouped(keys: Collection[DispatchKey]) -> Iterator[str]:
    """A text for each functionality."""
    by_functionality: dict[DispatchKey, list[DispatchKey]] = {}
    for key in sorted(keys, key=lambda key: (key.functionality, key)):
        by_functionality.setdefault(key.functionality, []).append(key)
    for functionality, group in by_functionality.items():
        yield _group(functionality, group)


def _group(functionality: DispatchKey, group: list[DispatchKey]) -> str:
    if functionality not in CUSTOMIZABLE or len(group) <= FEW:
        return ", ".join(map(str, group))
    title = TITLES.get(functionality, functionality.name)
    if len(group) == NUM_BACKENDS:
        return f"the {NUM_BACKENDS} {title} keys"
    return f"{len(group)} of the {NUM_BACKENDS} {title} keys"
