"""The function that checks each statement or reason: it asks an installed PyTorch, or fails."""

from __future__ import annotations

from collections.abc import Callable

Check = Callable[[], None]


class Checks(dict[str, Check]):
    """The checks, by the ident of the statement or reason."""

    def of(self, ident: str) -> Callable[[Check], Check]:
        """Mark the check of one."""

        def registered(check: Check) -> Check:
            assert ident not in self, ident
            self[ident] = check
            return check

        return registered
