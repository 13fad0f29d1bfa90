"""Messages about indices, masks and class numbers."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

INDICES = (
    KnownMessage(
        "index out of bounds",
        "index {index:n} is out of bounds for dimension {dim:n} with size {size:n}",
        detail="Dimension {dim} has size {size}, so its indices end before {size}; the call asks for {index}.",
        cause="Indices are counted from 0, or backwards from -1.",
        fix="Print the largest index and the shape. If class numbers begin with 1, subtract 1.",
        or_says=(
            "index is out of bounds for dimension with size {size:n}",
            "out of range: tried to access index {index:n} on a tensor of {size:n} elements",
        ),
        diagnosis="indices: x[i] out of bounds",
    ),
    KnownMessage(
        "embedding index",
        "index out of range in self",
        cause="An index is negative, or not less than num_embeddings, the number of rows of the embedding.",
        fix="Print indices.max() and indices.min(). Set num_embeddings to the largest index plus one; count padding "
        "and special tokens too.",
        diagnosis="indices: not in the table",
    ),
    KnownMessage(
        "class out of bounds",
        "Target {target:n} is out of bounds",
        detail="One target is {target}.",
        cause="A class number must not be negative, and must be less than the number of scores per sample (the size of "
        "dimension 1 of the input).",
        fix="Give the last layer one output for each class, count classes from 0, and mark targets to skip with "
        "ignore_index.",
        diagnosis="indices: class out of range",
    ),
    KnownMessage(
        "class of one_hot",
        "Class values must be smaller than num_classes",
        cause="one_hot() creates num_classes columns, and one of the indices has no column.",
        fix="Set num_classes to the largest class number plus 1, and count classes from 0.",
        diagnosis="indices: one_hot",
    ),
    KnownMessage(
        "float index",
        "tensors used as indices must be long, int, byte or bool tensors",
        cause="An index must be an integer or a Boolean mask, and this tensor has floating point numbers.",
        fix="Convert it with x.long(), or compare to get a mask: x > 0.",
        or_says=("tensors used as indices must be long, byte or bool tensors",),
        diagnosis="dtypes: indices",
    ),
    KnownMessage(
        "dtype of an index",
        "{operator}(): Expected dtype int32/int64 for index",
        detail="The operator is {operator}.",
        cause="The index tensor holds positions, so its dtype must be an integer dtype.",
        fix="Convert it with index.long().",
        or_says=(
            "{operator}(): Expected dtype int64 for index",
            "{operator}(): Expected dtype int32 or int64 for index",
        ),
        diagnosis="dtypes: indices",
    ),
    KnownMessage(
        "too many indices",
        "too many indices for tensor of dimension {dims:n}",
        detail="The tensor has {dims} dimensions.",
        cause="There are more indices in the brackets than the tensor has dimensions.",
        fix="Print x.shape. A dimension is missing, often the batch dimension; or remove an index.",
        diagnosis="indices: too many",
    ),
    KnownMessage(
        "mask of another shape",
        "The shape of the mask {mask:shape} at index {index:n} does not match the shape of the indexed tensor "
        "{tensor:shape} at index {again:n}",
        detail="The mask has shape {mask}; the tensor has shape {tensor}.",
        cause="A Boolean mask selects elements of the dimensions that it covers, so it must have their sizes.",
        fix="Compute the mask from the same tensor, or index the right dimension: x[:, mask].",
        diagnosis="indices: mask",
    ),
    KnownMessage(
        "mask that is no bool",
        "{operator} only supports boolean masks, but got mask with dtype {dtype:text}.",
        cause="A mask needs a Boolean for each element. Integers mean positions elsewhere.",
        fix="Convert it with mask.bool(), or compare: mask == 1.",
        or_says=("{operator} only supports boolean masks", "Expected mask to be of ScalarType Bool, but got {dtype}"),
        diagnosis="dtypes: mask",
    ),
    KnownMessage(
        "indices do not broadcast",
        "shape mismatch: indexing tensors could not be broadcast together with shapes {first:shape}, {second:shape}",
        detail="The index tensors have shapes {first} and {second}.",
        cause="Several index tensors are read together, element by element, so they must broadcast to one shape.",
        fix="Give them the same length, or use rows[:, None] and columns for all combinations.",
        diagnosis="indices: shapes of index tensors",
    ),
    KnownMessage(
        "assigned value does not fit",
        "shape mismatch: value tensor of shape {value:shape} cannot be broadcast to indexing result of shape "
        "{place:shape}",
        detail="The value has shape {value}; the selected elements have shape {place}.",
        cause="The value that you assign to x[index] must broadcast to the shape of x[index].",
        fix="Print x[index].shape, and give the value that shape.",
    ),
    KnownMessage(
        "size of an index",
        "Size does not match at dimension {dim:n} expected index {index:shape} to be no larger than self {self:shape} "
        "apart from dimension {apart:n}",
        detail="The index has shape {index}; the tensor has shape {self}.",
        cause="gather() and scatter() read the index element by element. In every other dimension it must not be "
        "larger than the tensor.",
        fix="Expand the tensor to the shape of the index, or use x[index] for whole rows.",
        diagnosis="indices: shape of the index",
    ),
    KnownMessage(
        "dimensions of an index",
        "Index tensor must have the same number of dimensions as self tensor",
        cause="gather() and scatter() read the index element by element, so it needs as many dimensions as the tensor.",
        fix="Add dimensions with unsqueeze: x.gather(1, index.unsqueeze(1)).",
        or_says=("Index tensor must have the same number of dimensions as input tensor",),
        diagnosis="indices: shape of the index",
    ),
    KnownMessage(
        "number of indices",
        "Number of indices ({indices:n}) should be equal to source.size(dim): ({source:n}), for dim: {dim:n}",
        detail="There are {indices} indices; the source has size {source} at dimension {dim}.",
        cause="index_add() and index_copy() write one slice of the source for each index.",
        fix="Give the index one element for each slice of the source along that dimension.",
        or_says=("Number of indices ({indices:n}) should be equal to source.size(dim) ({source:n})",),
    ),
    KnownMessage(
        "index of a scalar",
        "invalid index of a 0-dim tensor",
        or_says=("slice() cannot be applied to a 0-dim tensor",),
        cause="The tensor is a single number, so it has no dimension to index. A loss is one example: code for PyTorch "
        "before 0.4 writes loss.data[0].",
        fix="Read the number with x.item().",
    ),
    KnownMessage(
        "negative step",
        "step must be greater than zero",
        cause="The strides of a tensor cannot be negative, so a slice cannot go backwards.",
        fix="Use x.flip(0).",
    ),
    KnownMessage(
        "tensor as an index",
        "only integer tensors of a single element can be converted to an index",
        cause="Python needs an integer here (for a list, a range or a size). The tensor has several elements, or "
        "floating point numbers.",
        fix="Index a tensor instead of a list, or convert one element: int(x[0]).",
        diagnosis="shapes: one number of several",
    ),
    KnownMessage(
        "index of another type",
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type})",
        detail="The index has type {type}.",
        cause="An index must be an integer, a slice, a mask or a tensor of integers.",
        fix="Convert a computed index with int(). In Python 4 / 2 is a float, and 4 // 2 is an integer.",
    ),
    KnownMessage(
        "dtype of an assigned value",
        "Index put requires the source and destination dtypes match, got {place} for the destination and {value} for "
        "the source",
        detail="The tensor is {place}; the value is {value}.",
        cause="An assignment to x[index] with a tensor as the index does not convert dtypes.",
        fix="Convert the value: value.to(x.dtype).",
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "too few values for a mask",
        "Number of elements of source < number of ones in mask",
        cause="masked_scatter() fills the elements that the mask selects with the values of the source, in order.",
        fix="Pass at least mask.sum() values.",
    ),
    KnownMessage(
        "list as an assigned value",
        "can't assign a {type} to a {tensor}",
        detail="The value has type {type}; the tensor is a {tensor}.",
        cause="In x[index] = value, the value must be a tensor or a number.",
        fix="Convert the value to a tensor: x[0:2] = torch.tensor([1.0, 2.0]).",
    ),
    KnownMessage(
        "invalid max index",
        "Found an invalid max index: {index:n} (output volumes are of size {size})",
        detail="The index is {index}; the output has size {size}.",
        cause="max_unpool() writes each value where max_pool() found it. These indices come from an input of another "
        "size.",
        fix="Pass the indices of the matching MaxPool2d(return_indices=True), and output_size for odd sizes.",
    ),
)
"""One entry for each message."""
