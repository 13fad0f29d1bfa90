"""Messages about shapes, for operators in general."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

SHAPES = (
    KnownMessage(
        "sizes do not broadcast",
        "The size of tensor a ({a:n}) must match the size of tensor b ({b:n}) at non-singleton dimension {dim:n}",
        detail="At dimension {dim} one tensor has size {a}; the other has size {b}.",
        cause="Two tensors broadcast if, in each dimension counted from the last, their sizes are equal or one of them "
        "is 1.",
        fix="Print both shapes, and align the dimensions with unsqueeze, reshape or transpose.",
        diagnosis="shapes: broadcasting",
    ),
    KnownMessage(
        "view of non-contiguous",
        "view size is not compatible with input tensor's size and stride",
        cause="view() gives the same memory another shape. After transpose(), permute() or a slice the elements are in "
        "another order in memory, so no strides can describe the new shape.",
        fix="Use reshape(), which copies if it has to, or call contiguous() before view().",
        diagnosis="strides: view",
    ),
    KnownMessage(
        "shape of another number",
        "shape '{shape:shape}' is invalid for input of size {size:n}",
        detail="The shape {shape} does not have {size} elements.",
        cause="reshape() and view() keep all elements: the product of the new sizes must equal the number of elements.",
        fix="Pass -1 for one size, which is then computed, and keep the batch dimension separate: "
        "x.reshape(x.shape[0], -1).",
        diagnosis="shapes: another number of elements",
    ),
    KnownMessage(
        "expanded size",
        "The expanded size of the tensor ({new:n}) must match the existing size ({old:n}) at non-singleton dimension "
        "{dim:n}",
        detail="Dimension {dim} has size {old}; the call asks for {new}.",
        cause="expand() repeats a dimension of size 1 without copying. Other dimensions keep their size. An assignment "
        "(x[i] = y) expands its right-hand side in the same way.",
        fix="Use repeat() for other sizes, or insert a dimension of size 1 with unsqueeze().",
        diagnosis="shapes: expand",
    ),
    KnownMessage(
        "expand of few dimensions",
        "the number of sizes provided ({sizes:n}) must be greater or equal to the number of dimensions in the tensor "
        "({dims:n})",
        detail="expand got {sizes} sizes for {dims} dimensions.",
        cause="expand() can add dimensions at the front, but it cannot remove any.",
        fix="Pass a size for each dimension, or -1 to leave one unchanged.",
    ),
    KnownMessage(
        "repeat of few dimensions",
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        cause="repeat() takes one number for each dimension. More numbers add dimensions at the front.",
        fix="Pass a number for each dimension, or 1 to leave one unchanged.",
    ),
    KnownMessage(
        "sizes of unflatten",
        "unflatten: Provided sizes {sizes:shape} don't multiply up to the size of dim {dim:n} ({size:n}) in the input "
        "tensor",
        detail="The sizes {sizes}, multiplied, are not {size}.",
        cause="unflatten() splits one dimension into several. The product of their sizes must equal the size of that "
        "dimension.",
        fix="Pass -1 for one of the sizes, which is then computed.",
    ),
    KnownMessage(
        "cat of other sizes",
        "Sizes of tensors must match except in dimension {dim:n}. Expected size {expected:n} but got size {got:n} for "
        "tensor number {number:n} in the list",
        detail="Tensor {number} of the list (counted from 0) has size {got} where the first one has {expected}.",
        cause="cat() joins tensors along one dimension. All their other sizes must be equal.",
        fix="Pass the dimension in which the tensors differ (dim=), or give them equal sizes first.",
        diagnosis="shapes: cat",
    ),
    KnownMessage(
        "cat of other dimensions",
        "Tensors must have same number of dimensions: got {first:n} and {other:n}",
        detail="One tensor has {first} dimensions, another {other}.",
        cause="cat() needs tensors with the same number of dimensions, and it adds none.",
        fix="Add the missing dimension with unsqueeze(), or use stack() for a new dimension.",
        diagnosis="shapes: cat of other dimensions",
    ),
    KnownMessage(
        "cat of scalars",
        "zero-dimensional tensor (at position {position:n}) cannot be concatenated",
        cause="cat() joins tensors along a dimension, and a scalar has none.",
        fix="Use torch.stack(), which creates a new dimension.",
    ),
    KnownMessage(
        "stack of other sizes",
        "stack expects each tensor to be equal size, but got {first:shape} at entry 0 and {other:shape} at entry "
        "{entry:n}",
        detail="The first tensor has shape {first}; tensor {entry} has shape {other}.",
        cause="stack() creates a new dimension, so all tensors must have the same shape. A DataLoader stacks the "
        "samples of a batch in this way.",
        fix="Give the tensors the same shape (crop, resize, pad_sequence), or pass a collate_fn to the DataLoader.",
        diagnosis="shapes: stack",
    ),
    KnownMessage(
        "order of dimensions",
        "does not match the length of the desired ordering of dimensions i.e. input.dim() = {dims:n} is not equal to "
        "len(dims) = {given:n}",
        detail="The tensor has {dims} dimensions, and permute got {given} numbers.",
        cause="permute() needs the new position of every dimension.",
        fix="Name each dimension once, for example permute(0, 2, 3, 1) for a batch of images.",
        diagnosis="shapes: permute",
    ),
    KnownMessage(
        "no such dimension",
        "Dimension out of range (expected to be in range of [{lowest:n}, {highest:n}], but got {dim:n})",
        detail="The call asks for dimension {dim}; the tensor has dimensions {lowest} to {highest}.",
        cause="Dimensions are counted from 0, or backwards from -1. A tensor with n dimensions has dimensions -n to "
        "n-1.",
        fix="Print x.shape. The tensor has fewer dimensions than you expect, often because a batch dimension is "
        "missing.",
        diagnosis="shapes: no such dimension",
    ),
    KnownMessage(
        "dimension given twice",
        "dim {dim:n} appears multiple times in the list of dims",
        detail="Dimension {dim} was given twice.",
        cause="A reduction takes each dimension once. A negative number can mean the same dimension as a positive one.",
        fix="Remove one of them.",
    ),
    KnownMessage(
        "sizes of a split",
        "split_with_sizes expects split_sizes to sum exactly to {size:n} (input tensor's size at dimension {dim:n}), "
        "but got split_sizes={sizes:shape}",
        detail="The sizes {sizes} do not add up to {size}, the size of dimension {dim}.",
        cause="split() with a list of sizes must use every element.",
        fix="Pass sizes that add up, or one number: all parts then have that size, and the last one may be smaller.",
        diagnosis="shapes: split",
    ),
    KnownMessage(
        "reduction of nothing",
        "Expected reduction dim to be specified for input.numel() == 0",
        or_says=("Expected reduction dim {dim:n} to have non-zero size",),
        cause="The tensor is empty, so it has no largest or smallest element.",
        fix="Check that x.numel() is not 0 before the call. Usually a mask or a filter has removed everything.",
    ),
    KnownMessage(
        "negative size",
        "Trying to create tensor with negative dimension {size:n}",
        detail="A size is {size}.",
        cause="A computed size is negative. -1 means `the rest` only in reshape() and view().",
        fix="Compute the size from x.shape, and print it before the call.",
    ),
    KnownMessage(
        "ragged list",
        "expected sequence of length {expected:n} at dim {dim:n} (got {got:n})",
        detail="The first list has {expected} elements; another one has {got}.",
        cause="All rows of a tensor have the same length, but these lists have different lengths.",
        fix="Pad the lists to the same length, for example with torch.nn.utils.rnn.pad_sequence.",
    ),
    KnownMessage(
        "view as complex",
        "Tensor must have a last dimension of size 2",
        cause="view_as_complex() reads each pair of numbers in the last dimension as a real and an imaginary part, so "
        "that dimension must have size 2.",
        fix="Put the two parts into the last dimension, for example with torch.stack([real, imaginary], -1).",
    ),
    KnownMessage(
        "view of another dtype",
        "self.size(-1) must be divisible by {factor:n} to view {old} as {new} (different element sizes), but got "
        "{size:n}",
        detail="{factor} numbers of {old} are one of {new}, and the last dimension has {size}.",
        cause="view(dtype) reads the same bytes as numbers of another dtype. It converts nothing.",
        fix="Use x.to(dtype) to convert the numbers.",
    ),
    KnownMessage(
        "divisible split",
        "attempted to split along dimension {dim:n}, but the size of the dimension {size:n} is not divisible by the "
        "split_size {parts:n}",
        detail="Dimension {dim} has size {size}, which is not divisible by {parts}.",
        cause="hsplit(), vsplit() and dsplit() make parts of equal size.",
        fix="Use tensor_split(), which makes the first parts one element larger.",
    ),
    KnownMessage(
        "window larger than the tensor",
        "maximum size for tensor at dimension {dim:n} is {size:n} but size is {window:n}",
        detail="The window is {window}; dimension {dim} has size {size}.",
        cause="unfold() takes windows that lie within the tensor, and this window is too large.",
        fix="Pad the tensor, or make the window smaller.",
    ),
)
"""One entry for each message."""
