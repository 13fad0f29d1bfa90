"""``torch.autograd.profiler``: names for parts of a program. NB: in PyTorch, here is the profiler itself."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from dispatchviz.torch._face import torch


class record_function(ContextDecorator):
    """Gives what runs inside a name, by two operators that a dispatch mode sees."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> Any:
        self.record = torch.ops.profiler._record_function_enter_new(self.name, self.args)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        torch.ops.profiler._record_function_exit._RecordFunction(self.record)
