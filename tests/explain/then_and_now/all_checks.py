"""All checks."""

from __future__ import annotations

from tests.explain.then_and_now.checks_of_autograd import CHECKS as OF_AUTOGRAD
from tests.explain.then_and_now.checks_of_dispatching import CHECKS as OF_DISPATCHING
from tests.explain.then_and_now.checks_of_engine import CHECKS as OF_ENGINE
from tests.explain.then_and_now.checks_of_generated_code import CHECKS as OF_GENERATED_CODE

ALL = (OF_DISPATCHING, OF_AUTOGRAD, OF_GENERATED_CODE, OF_ENGINE)

CHECKS = {ident: check for checks in ALL for ident, check in checks.items()}

assert len(CHECKS) == sum(map(len, ALL))
