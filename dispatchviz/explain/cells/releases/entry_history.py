"""The releases in which a table entry changed: the answer of ``why OP KEY --since``.

Each known release is compared with the next one. An entry is the same if the same rule fills it with a kernel from the
same file. A change of the code of a kernel is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from dispatchviz.explain.cells.computed_table import Row
from dispatchviz.explain.cells.release_differences import content, differ, file_of, has_moved
from dispatchviz.explain.cells.releases.release import Release, all_releases
from dispatchviz.explain.cells.releases.release_keys import names_of, plain_name, runtime_key
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.live.registration import UNKNOWN_FILE


class EntryChange(NamedTuple):
    """A change of an entry from one release to the next."""

    since: str
    """The first release with the change: ``2.11``."""
    text: str
    """A sentence."""


class EntryHistory(NamedTuple):
    """An entry in all known releases."""

    operator: str
    key: str
    first: str
    """The oldest release that has the entry."""
    last: str
    """The newest release that has it."""
    changes: tuple[EntryChange, ...]
    sentences: tuple[str, ...]
    """The changes as sentences, with one on the time without a change if the content never changed."""


State = Row | None
"""The entry in a release; None if the release does not have the operator or the key."""


def entry_history(operator: str, typed_key: str, build: str) -> EntryHistory:
    """Return the history of an operator's entry. Raise DispatchvizError if no release that has the operator has the
    key.
    """
    releases = [release for release in all_releases() if operator in release.text.lines]
    having = [release for release in releases if plain_name(typed_key) in names_of(release)]
    key = runtime_key((having or releases)[-1], typed_key)
    states = [_state(release, operator, key, build) for release in all_releases()]
    entries = [(release.minor, row) for release, row in zip(all_releases(), states, strict=True) if row is not None]
    if not entries:
        raise DispatchvizError(f"no release has an entry of {operator} for {key}")
    (first, _), (last, row) = entries[0], entries[-1]
    changes = tuple(_changes(operator, key, states))
    return EntryHistory(operator, key, first, last, changes, tuple(_sentences(changes, first, last, row)))


def _sentences(changes: Sequence[EntryChange], first: str, last: str, row: Row) -> Iterator[str]:
    """Yield the sentences in the order of releases."""
    texts = [change.text for change in changes]
    if any(text.startswith(SINCE) for text in texts):
        yield from texts
        return
    order = [release.minor for release in all_releases()]
    begun = sum(order.index(change.since) <= order.index(first) for change in changes)
    time = f"Unchanged from {first} to {last}" if first != last else f"Only {first} has it"
    yield from (*texts[:begun], f"{time}: the entry {_known(content(row))}.", *texts[begun:])


SINCE = "Since "
"""The beginning of a sentence on a changed content."""


def _state(release: Release, operator: str, key: str, build: str) -> State:
    if operator not in release.text.lines or key not in release.keys:
        return None
    return release.rows(release.registry(build).operators[operator], build, [key])[0]


def _changes(operator: str, key: str, states: list[State]) -> Iterator[EntryChange]:
    for (before, old), (after, new) in pairwise(zip(all_releases(), states, strict=True)):
        for text in _texts(operator, key, (before, old), (after, new)):
            yield EntryChange(after.minor, text)


def _texts(operator: str, key: str, old: tuple[Release, State], new: tuple[Release, State]) -> Iterator[str]:
    """Yield the sentences on the step from one release to the next."""
    (before, here), (after, there) = old, new
    had, has = (operator in release.text.lines for release in (before, after))
    if had != has:
        yield f"{operator} {'came' if has else 'was removed'} in {after.minor}."
    elif has and (here is None) != (there is None):
        yield f"The key {key} {'came' if there else 'was removed'} in {after.minor}."
    elif here is not None and there is not None and differ(here, there):
        yield _difference(after.minor, here, there)


def _difference(since: str, here: Row, there: Row) -> str:
    if has_moved(here, there):
        return (
            f"{SINCE}{since}, the kernel of the entry is registered in {file_of(there)}; before, it was registered in "
            f"{file_of(here)}."
        )
    return f"{SINCE}{since}, the entry {_known(content(there))}; before, it {_past(_known(content(here)))}."


def _known(content: str) -> str:
    """A content without the file of which PyTorch says nothing."""
    return content.replace(f"from {UNKNOWN_FILE}", "that Python registered")


PAST = {"is": "was", "holds": "held", "raises": "raised"}
"""The verbs of contents, and their past."""


def _past(content: str) -> str:
    """``held the kernel for Meta`` for ``holds the kernel for Meta``."""
    verb, _, rest = content.partition(" ")
    return f"{PAST[verb]} {rest}"
