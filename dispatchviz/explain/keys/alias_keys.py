"""What each alias key covers, as a text."""

from __future__ import annotations

from dispatchviz.core.keys.keys import DispatchKey

K = DispatchKey

ALIAS_TEXTS = {
    K.Autograd: "the autograd keys of all backends",
    K.CompositeImplicitAutograd: (
        "every backend, in every layout, and their autograd keys: the kernel has no derivative of its own, since the "
        "operators that it calls have theirs"
    ),
    K.CompositeExplicitAutograd: (
        "every backend, nested tensors aside, but no autograd key: the derivative is registered separately, to Autograd"
    ),
    K.CompositeExplicitAutogradNonFunctional: (
        "what CompositeExplicitAutograd covers except the Sparse keys (COO), XLA and Lazy: such a kernel relies on "
        "views or on writing to memory, as most do that allocate the output and call the operator's out= form"
    ),
    K.CompositeImplicitAutogradNestedTensor: "the NestedTensor keys and AutogradNestedTensor",
    K.FuncTorchBatchedDecomposition: "FuncTorchBatched alone",
}
"""Alias keys, and what they cover."""
