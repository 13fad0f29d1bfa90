"""The metaclass of classes that C++ declares in PyTorch. They print with PyTorch's names: ``<class 'torch.dtype'>``."""

from __future__ import annotations

from typing import Any


class DeclaredInC(type):
    """The metaclass, used as ``class Device(metaclass=DeclaredInC, name="torch.device")``. Subclasses print with their
    own names.
    """

    _shown: str

    def __new__(cls, *args: Any, name: str = "") -> Any:
        return super().__new__(cls, *args)

    def __init__(cls, *args: Any, name: str = "") -> None:
        super().__init__(*args)
        if "_shown" not in vars(cls):  # a dataclass with slots creates the class a second time
            cls._shown = name

    def __repr__(cls) -> str:
        return f"<class '{cls._shown}'>" if cls._shown else super().__repr__()
