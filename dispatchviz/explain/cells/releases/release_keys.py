"""The dispatch keys of a release by the names that people type, and the releases that have something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from dispatchviz.explain.cells.releases.release import Release, all_releases
from dispatchviz.explain.keys.key_text import group_text
from dispatchviz.foundation.english import listed
from dispatchviz.foundation.errors import DispatchvizError


def key_named(release: Release, text: str) -> str:
    """Return the key, functionality or alias with a name, in any capitalization. Raise DispatchvizError if the release
    does not have it.
    """
    name = plain_name(text)
    if found := names_of(release).get(name):
        return found
    error = f"PyTorch {release.minor} has no dispatch key {text!r}"
    raise DispatchvizError(error + (_elsewhere(release, name) or _meant(release, name)))


def plain_name(text: str) -> str:
    """Return a typed name in lower case, without its class."""
    return text.strip().removeprefix("DispatchKey.").removeprefix("torch._C.DispatchKey.").lower()


def names_of(release: Release) -> dict[str, str]:
    """Return the keys, functionalities and aliases of a release, by their name in lower case."""
    return {name.lower(): name for name in (*release.functionalities, *release.text.members, *release.keys)}


def _elsewhere(release: Release, name: str) -> str:
    found = whereabouts(release, lambda other: name in names_of(other))
    return f": {found}" if found else ""


def _meant(release: Release, name: str) -> str:
    import difflib

    names = names_of(release)
    close = difflib.get_close_matches(name, names, 3, 0.6)
    return f"; did you mean {' or '.join(names[one] for one in close)}?" if close else ""


def runtime_keys(release: Release, texts: Iterable[str]) -> list[str]:
    """Return the runtime keys of names. An alias means all its keys, and so does a functionality. Raise
    DispatchvizError if a name is unknown.
    """
    return [key for text in texts for key in runtime(release, key_named(release, text))]


def runtime(release: Release, name: str) -> Sequence[str]:
    """Return the runtime keys of a key, a functionality or an alias."""
    if name in release.keys:
        return (name,)
    return release.text.members.get(name) or release.functionalities[name]


def runtime_key(release: Release, text: str) -> str:
    """Return the one runtime key of a name. Raise DispatchvizError for any other name."""
    name = key_named(release, text)
    if name in release.keys:
        return name
    kind = "is an alias" if name in release.text.members else "has no table entry of its own"
    found = runtime(release, name)
    raise DispatchvizError(f"{name} {kind}: it covers {len(found)} keys; name one of them, such as {_example(found)}")


def _example(keys: Sequence[str]) -> str:
    return next((key for key in keys if key.endswith("CUDA")), keys[0])


class ReleaseKeys:
    """The keys of a release, which the entries of its tables are folded by."""

    def __init__(self, release: Release) -> None:
        self._members = release.functionalities
        self._functionality = {key: name for name, keys in self._members.items() for key in keys}

    def functionality(self, key: str) -> str | None:
        """Return the functionality of a runtime key."""
        return self._functionality.get(key)

    def text(self, keys: Sequence[str]) -> str:
        """Return the names of keys, grouped by functionality."""
        return listed([*self._groups(keys)])

    def _groups(self, keys: Sequence[str]) -> Iterator[str]:
        for functionality, members in self._members.items():
            if found := [key for key in members if key in keys]:
                yield group_text(functionality, found, len(members))


# -- the releases that have something ---------------------------------------------------------------------------------


def whereabouts(asked: Release, has: Callable[[Release], bool]) -> str:
    """Return when something came or was removed that a release does not have, as a clause that begins with "it". It is
    empty if no known release has it.
    """
    releases = [*all_releases()]
    place = releases.index(asked)
    having = [has(release) for release in releases]
    if any(having[:place]) and any(having[place:]):
        return (
            f"PyTorch {listed([release.minor for release, one in zip(releases, having, strict=True) if one])} have it"
        )
    if any(having[:place]):
        last = max(at for at in range(place) if having[at])
        return f"it was removed in {releases[last + 1].minor}"
    if any(having[place:]):
        return f"it came in {releases[having.index(True)].minor}"
    return ""
