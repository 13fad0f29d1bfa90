"""Helpers of batch rules: move, merge and split the batch dimension (``aten/src/ATen/functorch/BatchRulesHelper.cpp``).

Operators are called by name as C++ calls them: by a full call, so that each call is recorded.
"""

from __future__ import annotations

from typing import NoReturn

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.dynamic_layer import current_layer
from dispatchviz.core.layers.functorch.interpreter import VmapInterpreter
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor


def vmap_layer() -> VmapInterpreter:
    """Return the interpreter on top, which belongs to a vmap while a batch rule runs."""
    interpreter = current_layer().interpreter
    assert isinstance(interpreter, VmapInterpreter)
    return interpreter


def move_batch_dim_to_front(tensor: Tensor, bdim: int | None) -> Tensor:
    """Move the batch dimension to the front, without a call if it is there already (``moveBatchDimToFront``)."""
    return ops.movedim_int.call(tensor, bdim, 0) if bdim else tensor


def rank_without_batch_dim(tensor: Tensor, bdim: int | None) -> int:
    """The logical rank (``rankWithoutBatchDim``)."""
    return len(tensor._size) - (bdim is not None)


def physical_dim(tensor: Tensor, has_batch_dim: bool, dim: int) -> int:
    """The physical dimension for the user's, in a tensor whose batch dimension is in front (``getPhysicalDim``)."""
    return wrap_dim(dim, len(tensor._size) - has_batch_dim) + has_batch_dim


def physical_size(tensor: Tensor, size: Size) -> Size:
    """The batch size followed by the user's size, for a tensor whose batch dimension is in front."""
    return (tensor._size[0], *size)


def maybe_pad_to_logical_rank(tensor: Tensor, bdim: int | None, rank: int) -> Tensor:
    """Insert dimensions of size 1 after the batch dimension, so that broadcasting aligns."""
    missing = rank - rank_without_batch_dim(tensor, bdim)
    if bdim is None or missing <= 0:
        return tensor
    return ops.view.call(tensor, (tensor._size[0], *[1] * missing, *tensor._size[1:]))


def reshape_dim_into(source: int, target: int, tensor: Tensor) -> Tensor:
    """Make one dimension the outer part of another. ``target`` is counted as if the first were removed."""
    rank = len(tensor._size)
    source, target = wrap_dim(source, rank), wrap_dim(target, rank - 1)
    size = [length for dim, length in enumerate(tensor._size) if dim != source]
    size[target] *= tensor._size[source]
    return ops.reshape.call(ops.movedim_int.call(tensor, source, target), tuple(size))


def reshape_dim_outof(source: int, outer: int, tensor: Tensor) -> Tensor:
    """Split a dimension into ``outer`` and the rest. Raise RuntimeError if that is impossible."""
    source = wrap_dim(source, len(tensor._size))
    if tensor._size[source] and tensor._size[source] % outer:
        raise RuntimeError(
            'shape[src] % size1 == 0 INTERNAL ASSERT FAILED at "aten/src/ATen/functorch/BatchRulesHelper.cpp":136, '
            "please report a bug to PyTorch. "
        )
    inner = tensor._size[source] // outer if tensor._size[source] else 0
    size = (*tensor._size[:source], outer, inner, *tensor._size[source + 1 :])
    return ops.reshape.call(tensor, size)


def batch_size(*batched: tuple[Tensor, int | None]) -> int:
    """The batch size of the first tensor that is batched (``get_bdim_size2``, ``get_bdim_size3``)."""
    return next(tensor._size[bdim] for tensor, bdim in batched if bdim is not None)


def contiguous(tensor: Tensor) -> Tensor:
    """Return a contiguous tensor, without a call if it is contiguous already (``Tensor::contiguous`` of C++)."""
    return tensor if tensor._is_contiguous else ops.contiguous.call(tensor, "contiguous_format")


def ensure_has_bdim(tensor: Tensor, has_bdim: bool, batch_size: int) -> Tensor:
    """Expand the tensor by a batch dimension if it has none."""
    return tensor if has_bdim else ops.expand.call(tensor, (batch_size, *tensor._size), False)


def vmap_incompatible_inplace_error(name: str) -> NoReturn:
    """Raise RuntimeError: self is not batched, but the value that is written to it is."""
    raise RuntimeError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
        "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over "
        f"in a vmap. Please try to use out-of-place operators instead of {name}. If said operator is being called "
        "inside the PyTorch framework, please file a bug report instead."
    )


def check_randomness(any_tensor_batched: bool = False) -> str:
    """Return the running vmap's randomness. Raise RuntimeError if it forbids random numbers, or ``same`` ones for a
    batched tensor.
    """
    randomness = vmap_layer().randomness
    if randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    if randomness == "same" and any_tensor_batched:
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
            "functorch"
        )
    return randomness
