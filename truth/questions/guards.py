"""Effects of the guards of ``torch._C`` on the thread-local key sets, in PyTorch and in the model.

This module needs neither torch nor dispatchviz.
"""

from __future__ import annotations

from typing import Any

GUARDS = (
    "_ExcludeDispatchKeyGuard(S(K.CUDA))",
    "ExcludeDispatchKeyGuard(S(K.CUDA))",
    "_IncludeDispatchKeyGuard(K.CUDA)",
    "_IncludeDispatchKeyGuard('BackendSelect')",
    "_IncludeDispatchKeyGuard(K.Autograd)",
    "_ForceDispatchKeyGuard(S(K.CPU), S(K.CUDA))",
    "_PreserveDispatchKeyGuard()",
    "_AutoDispatchBelowAutograd()",
    "_AutoDispatchBelowADInplaceOrView()",
    "_SetExcludeDispatchKeyGuard(K.CUDA, True)",
    "_SetExcludeDispatchKeyGuard('AutocastCPU', False)",
    "_SetExcludeDispatchKeyGuard(K.AutogradCPU, False)",
    "_DisableTorchDispatch()",
    "_EnablePythonDispatcher()",
    "_DisablePythonDispatcher()",
    "_EnablePreDispatch()",
)
SETTERS = (
    ("_dispatch_tls_set_dispatch_key_included", "CUDA"),
    ("_dispatch_tls_set_dispatch_key_included", "Python"),
    ("_dispatch_tls_set_dispatch_key_included", "Autograd"),
    ("_dispatch_tls_set_dispatch_key_excluded", "AutogradCUDA"),
    ("_dispatch_tls_set_dispatch_key_excluded", "AutocastCPU"),
    ("_dispatch_tls_set_dispatch_key_excluded", "Undefined"),
)

Sets = tuple[str, str]


class Watched:
    """The guards of one ``torch._C``."""

    def __init__(self, C: Any) -> None:
        self.C = C
        self.names = {"C": C, "K": C.DispatchKey, "S": C.DispatchKeySet}

    def sets(self) -> Sets:
        """The thread-local include and exclude sets."""
        C = self.C
        return hex(C._dispatch_tls_local_include_set().raw_repr()), hex(C._dispatch_tls_local_exclude_set().raw_repr())

    def _fresh(self) -> Any:
        """Restore the thread's state after a query."""
        return self.C._PreserveDispatchKeyGuard()

    def guard(self, text: str) -> list[Sets]:
        """The sets after the guard is created, entered, left, entered and left again, entered with changes inside, and
        deleted.
        """
        with self._fresh():
            guard = eval(f"C.{text}", self.names)
            seen = [self.sets()]
            for change in (False, False, True):
                with guard:
                    if change:
                        self.C._dispatch_tls_set_dispatch_key_included("Python", True)
                        self.C._dispatch_tls_set_dispatch_key_excluded("Tracer", True)
                    seen.append(self.sets())
                seen.append(self.sets())
            del guard
            return [*seen, self.sets()]

    def dropped(self, text: str) -> list[Sets]:
        """The sets while a guard exists without being entered, and after it is deleted."""
        with self._fresh():
            guard = eval(f"C.{text}", self.names)
            seen = [self.sets()]
            del guard
            return [*seen, self.sets()]

    def setter(self, name: str, key: str) -> list[Any]:
        """The sets after on, on, off, off; and the query's answers for the key."""
        query = getattr(self.C, name.replace("_set_", "_is_"))
        with self._fresh():
            seen: list[Any] = []
            for state in (True, True, False, False):
                getattr(self.C, name)(key, state)
                seen.append([self.sets(), query(key)])
            return seen

    def meta(self) -> list[Any]:
        """The sets after ``_set_meta_in_tls_dispatch_include`` on and off."""
        with self._fresh():
            seen: list[Any] = []
            for state in (True, False):
                self.C._set_meta_in_tls_dispatch_include(state)
                seen.append([self.sets(), self.C._meta_in_tls_dispatch_include()])
            return seen
