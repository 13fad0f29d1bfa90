"""All checks."""

from __future__ import annotations

from tests.explain.then_and_now.checks_of_dispatching import CHECKS as OF_DISPATCHING
from tests.explain.then_and_now.checks_of_kernels import CHECKS as OF_KERNELS

CHECKS = OF_DISPATCHING | OF_KERNELS

assert len(CHECKS) == len(OF_DISPATCHING) + len(OF_KERNELS)
