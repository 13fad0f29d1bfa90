"""The registrations of older releases of PyTorch, in the form of the model's own.

``truth/recorders/past_releases.py`` records each from an installed PyTorch. They are read and unpacked together, which
takes milliseconds, when the first one is needed.
"""

from __future__ import annotations

import os
from functools import cache

from dispatchviz.core.table.pytorch_registrations import NATIVE, newest
from dispatchviz.core.table.registrations_text import RegistrationsText
from dispatchviz.foundation.pytorch_release import MINOR
from dispatchviz.foundation.zstandard import zstd

RELEASE_MARK = "\f"
"""The character before each release."""


@cache
def _texts() -> dict[str, str]:
    """The text of each older release by its minor version, newest first."""
    with open(os.path.join(NATIVE, "past_registrations.txt.zst"), "rb") as file:
        texts = zstd.decompress(file.read()).decode().split(RELEASE_MARK)[1:]
    return {_minor(text): text for text in texts}


def _minor(text: str) -> str:
    release = text.partition("\n")[0].partition("\t")[2]
    return release.rpartition(".")[0]


def known_releases() -> tuple[str, ...]:
    """The minor versions whose registrations are known, oldest first. The last one is the model's."""
    return (*reversed(_texts()), MINOR)


@cache
def registrations_of(minor: str) -> RegistrationsText:
    """Return the registrations of a minor version. Raise KeyError if they are not known."""
    return newest() if minor == MINOR else RegistrationsText(_texts()[minor])
