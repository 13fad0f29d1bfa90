"""``detect_anomaly`` and ``set_detect_anomaly`` (``torch/autograd/anomaly_mode.py``)."""

from __future__ import annotations

import warnings

from dispatchviz.torch._C._engine import is_anomaly_check_nan_enabled, is_anomaly_enabled, set_anomaly_enabled

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class _Anomaly:
    """A context manager that restores on exit the settings at its creation."""

    def __init__(self, check_nan: bool) -> None:
        self.check_nan = check_nan
        self.prev = is_anomaly_enabled()
        self.prev_check_nan = is_anomaly_check_nan_enabled()

    def __exit__(self, *_: object) -> None:
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class detect_anomaly(_Anomaly):
    """Record the stack that creates each Node in the block, for errors in backward. Warn that this is slow."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        set_anomaly_enabled(True, self.check_nan)


class set_detect_anomaly(_Anomaly):
    """Set anomaly mode at once; as a context manager, also restore it."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass
