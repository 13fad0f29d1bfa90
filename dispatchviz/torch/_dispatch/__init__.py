"""``torch._dispatch``: the switch of the Python dispatcher."""

from __future__ import annotations
