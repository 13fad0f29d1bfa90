"""``torch._dispatch``: switching the Python dispatcher."""

from __future__ import annotations
