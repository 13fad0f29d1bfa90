"""Switches of the whole process (``aten/src/ATen/Context.h``), which ``torch.backends`` and others turn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Context:
    """What users have chosen."""

    user_enabled_cudnn: bool = True
    user_enabled_mkldnn: bool = True


context = Context()
