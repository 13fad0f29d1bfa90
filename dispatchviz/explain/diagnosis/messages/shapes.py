"""Messages about shapes, of operators in general."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

SHAPES = (
    KnownMessage(
        "sizes do not broadcast",
        "The size of tensor a ({a:n}) must match the size of tensor b ({b:n}) at non-singleton dimension {dim:n}",
        detail="At dimension {dim} one tensor has the size {a}, the other {b}.",
        cause="Two tensors broadcast if their sizes, compared from the last dimension to the first, are equal or one of"
        " them is 1.",
        fix="Print both shapes, and align the dimensions with unsqueeze, reshape or transpose.",
        diagnosis="shapes: broadcasting",
    ),
    KnownMessage(
        "view of non-contiguous",
        "view size is not compatible with input tensor's size and stride",
        cause="view gives the same memory another shape; after transpose, permute or a slice the elements are not in "
        "that order in memory, so no strides describe the new shape.",
        fix="Use reshape, which copies where it must, or contiguous() before view.",
        diagnosis="strides: view",
    ),
    KnownMessage(
        "shape of another number",
        "shape '{shape:shape}' is invalid for input of size {size:n}",
        detail="The shape {shape} does not have {size} elements.",
        cause="reshape and view keep all elements: the sizes of the new shape, multiplied, give their number.",
        fix="Let one size be -1, which is computed, and keep the batch dimension apart: x.reshape(x.shape[0], -1).",
        diagnosis="shapes: another number of elements",
    ),
    KnownMessage(
        "expanded size",
        "The expanded size of the tensor ({new:n}) must match the existing size ({old:n}) at non-singleton dimension "
        "{dim:n}",
        detail="Dimension {dim} has the size {old}, and {new} is asked for.",
        cause="expand repeats a dimension of size 1 without copying; others keep their size. An assignment "
        "(x[i] = y) expands its right side in the same way.",
        fix="Use repeat for other sizes, or give the tensor the size 1 there with unsqueeze.",
        diagnosis="shapes: expand",
    ),
    KnownMessage(
        "expand of few dimensions",
        "the number of sizes provided ({sizes:n}) must be greater or equal to the number of dimensions in the tensor "
        "({dims:n})",
        detail="expand got {sizes} sizes for {dims} dimensions.",
        cause="expand can add dimensions at the front, it cannot take any away.",
        fix="Pass a size for each dimension, -1 for one that stays.",
    ),
    KnownMessage(
        "repeat of few dimensions",
        "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
        cause="repeat takes one number for each dimension, and may add dimensions at the front.",
        fix="Pass a number for each dimension, 1 for one that stays.",
    ),
    KnownMessage(
        "sizes of unflatten",
        "unflatten: Provided sizes {sizes:shape} don't multiply up to the size of dim {dim:n} ({size:n}) in the input "
        "tensor",
        detail="The sizes {sizes}, multiplied, are not {size}.",
        cause="unflatten splits one dimension into several that have as many elements together.",
        fix="Let one of the sizes be -1, which is computed.",
    ),
    KnownMessage(
        "cat of other sizes",
        "Sizes of tensors must match except in dimension {dim:n}. Expected size {expected:n} but got size {got:n} for "
        "tensor number {number:n} in the list",
        detail="Tensor {number} of the list (counted from 0) has the size {got} where the first one has {expected}.",
        cause="cat joins tensors along one dimension; all other sizes must be equal.",
        fix="Choose the dimension in which the tensors differ (dim=), or bring them to one size before.",
        diagnosis="shapes: cat",
    ),
    KnownMessage(
        "cat of other dimensions",
        "Tensors must have same number of dimensions: got {first:n} and {other:n}",
        detail="One tensor has {first} dimensions, another {other}.",
        cause="cat needs tensors of the same number of dimensions: it adds none.",
        fix="Add the missing dimension with unsqueeze, or use stack for a new dimension.",
        diagnosis="shapes: cat of other dimensions",
    ),
    KnownMessage(
        "cat of scalars",
        "zero-dimensional tensor (at position {position:n}) cannot be concatenated",
        cause="cat works along a dimension, and a scalar has none.",
        fix="Use torch.stack, which makes a new dimension.",
    ),
    KnownMessage(
        "stack of other sizes",
        "stack expects each tensor to be equal size, but got {first:shape} at entry 0 and {other:shape} at entry "
        "{entry:n}",
        detail="The first tensor has the shape {first}, tensor {entry} has {other}.",
        cause="stack makes a new dimension, along which all tensors must have the same shape. A DataLoader stacks the "
        "samples of a batch in this way.",
        fix="Bring the tensors to one shape (crop, resize, pad_sequence), or give the DataLoader a collate_fn.",
        diagnosis="shapes: stack",
    ),
    KnownMessage(
        "order of dimensions",
        "does not match the length of the desired ordering of dimensions i.e. input.dim() = {dims:n} is not equal to "
        "len(dims) = {given:n}",
        detail="The tensor has {dims} dimensions, and permute got {given} numbers.",
        cause="permute names the new place of every dimension.",
        fix="Name each dimension once, for example permute(0, 2, 3, 1) for an image with its batch.",
        diagnosis="shapes: permute",
    ),
    KnownMessage(
        "no such dimension",
        "Dimension out of range (expected to be in range of [{lowest:n}, {highest:n}], but got {dim:n})",
        detail="Dimension {dim} was asked for, and the tensor has those from {lowest} to {highest}.",
        cause="Dimensions are counted from 0 or, backwards, from -1; a tensor of n dimensions has those from -n to "
        "n-1.",
        fix="Print x.shape: the tensor has fewer dimensions than expected, often because a batch dimension is missing.",
        diagnosis="shapes: no such dimension",
    ),
    KnownMessage(
        "dimension given twice",
        "dim {dim:n} appears multiple times in the list of dims",
        detail="Dimension {dim} was given twice.",
        cause="A reduction over several dimensions names each once; -1 may be the same as another number.",
        fix="Leave one of them out.",
    ),
    KnownMessage(
        "sizes of a split",
        "split_with_sizes expects split_sizes to sum exactly to {size:n} (input tensor's size at dimension {dim:n}), "
        "but got split_sizes={sizes:shape}",
        detail="The sizes {sizes} do not add up to {size}, the size of dimension {dim}.",
        cause="split with a list of sizes gives every element to one part.",
        fix="Pass sizes that add up, or one number: parts of that size, the last one smaller.",
        diagnosis="shapes: split",
    ),
    KnownMessage(
        "reduction of nothing",
        "Expected reduction dim to be specified for input.numel() == 0",
        or_says=("Expected reduction dim {dim:n} to have non-zero size",),
        cause="The tensor is empty, and there is no largest or smallest element of nothing.",
        fix="Ask before the call whether x.numel() is 0: usually a mask or a filter has removed everything.",
    ),
    KnownMessage(
        "negative size",
        "Trying to create tensor with negative dimension {size:n}",
        detail="A size is {size}.",
        cause="A size was computed that is below 0; -1 means `the rest` in reshape alone.",
        fix="Compute the size from x.shape, and print it.",
    ),
    KnownMessage(
        "ragged list",
        "expected sequence of length {expected:n} at dim {dim:n} (got {got:n})",
        detail="The first list has {expected} elements, another has {got}.",
        cause="A tensor has rows of one length, and these lists have different ones.",
        fix="Pad the lists to one length, for example with torch.nn.utils.rnn.pad_sequence.",
    ),
    KnownMessage(
        "view as complex",
        "Tensor must have a last dimension of size 2",
        cause="view_as_complex reads each pair of numbers in the last dimension as real and imaginary part.",
        fix="Bring the two parts into a last dimension, for example with torch.stack([real, imaginary], -1).",
    ),
    KnownMessage(
        "view of another dtype",
        "self.size(-1) must be divisible by {factor:n} to view {old} as {new} (different element sizes), but got "
        "{size:n}",
        detail="{factor} numbers of {old} are one of {new}, and the last dimension has {size}.",
        cause="view with a dtype reads the same bytes as other numbers; it converts nothing.",
        fix="Use x.to(dtype) to convert the numbers.",
    ),
    KnownMessage(
        "divisible split",
        "attempted to split along dimension {dim:n}, but the size of the dimension {size:n} is not divisible by the "
        "split_size {parts:n}",
        detail="The size {size} of dimension {dim} does not make {parts} equal parts.",
        cause="hsplit, vsplit and dsplit make parts of equal size.",
        fix="Use tensor_split, which makes the first parts larger by one.",
    ),
    KnownMessage(
        "window larger than the tensor",
        "maximum size for tensor at dimension {dim:n} is {size:n} but size is {window:n}",
        detail="The window is {window}, and dimension {dim} has the size {size}.",
        cause="unfold takes windows within the tensor, and none fits.",
        fix="Pad the tensor, or make the window smaller.",
    ),
)
"""One entry for each message."""
