"""What each alias key stands for, in words."""

from __future__ import annotations

from dispatchviz.core.keys.keys import DispatchKey

K = DispatchKey

ALIAS_WORDS = {
    K.Autograd: "the autograd keys of all backends",
    K.CompositeImplicitAutograd: "every backend, in every layout, and their autograd keys: the kernel brings no "
    "derivative, because what it calls brings them",
    K.CompositeExplicitAutograd: "every backend, nested tensors aside, but no autograd key: the derivative is "
    "registered apart, to Autograd",
    K.CompositeExplicitAutogradNonFunctional: "the same backends, except the Sparse keys (COO), XLA and Lazy: such a "
    "kernel makes use of views or of memory that is written to, as most do that allocate the output and call the "
    "operator's out= form",
    K.CompositeImplicitAutogradNestedTensor: "the NestedTensor keys and AutogradNestedTensor",
    K.FuncTorchBatchedDecomposition: "FuncTorchBatched alone",
}
"""Alias keys, and what they stand for."""
