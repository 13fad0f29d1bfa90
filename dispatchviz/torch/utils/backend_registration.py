"""``torch.utils.backend_registration``: the name of the backend behind PrivateUse1.

NB: PyTorch also renames a member of ``ProfilerActivity`` and of ``DeviceType``.
"""

from __future__ import annotations

from dispatchviz.core.device.device import rename_private_backend


def rename_privateuse1_backend(backend_name: str) -> None:
    """Rename the device type of the key PrivateUse1, once in a process. Raise RuntimeError for a second name."""
    if not isinstance(backend_name, str):
        raise RuntimeError(f"_rename_privateuse1_backend expects a str, but got {type(backend_name).__name__}")
    rename_private_backend(backend_name)
