"""The backend fallback for Meta (``aten/src/ATen/core/MetaFallbackKernel.cpp``). It raises, since no shape rule is
known.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dispatchviz.core.table.operator_entry import OperatorEntry


def meta_fallback(op: OperatorEntry, ks: int, stack: list[Any]) -> NoReturn:
    """Raise NotImplementedError.

    NB: in PyTorch, the error of an operator that names a Python module for its fake kernel (``set_python_module``)
    names that module.
    """
    raise NotImplementedError(
        f"{op.name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
        "registered. You may have run into this message while using an operator with PT2 compilation APIs "
        "(torch.compile/torch.export); in order to use this operator with those APIs you'll need to add a fake impl. "
        "Please see the following for next steps:  https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
    )
