"""The release of PyTorch that the model has. Texts take it from here; ``python -m truth.follow`` leads to the next."""

from __future__ import annotations

RELEASE = "2.14.1"

MINOR = RELEASE.rpartition(".")[0]
"""The release without its last number: ``2.14``."""

OLDEST = "2.6"
"""The oldest release whose registrations are known, and that a recording can run on."""
