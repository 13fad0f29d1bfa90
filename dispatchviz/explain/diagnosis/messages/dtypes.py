"""Messages about dtypes, and about values that a kernel does not accept."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

DTYPES = (
    KnownMessage(
        "dtypes of a product",
        "expected m1 and m2 to have the same dtype, but got: {first} != {second}",
        detail="The first matrix is {first}; the second is {second}.",
        cause="Matrix products do not promote dtypes, so both matrices must have the same one. NumPy arrays are "
        "float64 (double) by default; the parameters of a model are float32 (float).",
        fix="Convert the input: x.float(), or x.to(layer.weight.dtype). For mixed precision use torch.autocast.",
        or_says=(
            "mat1 and mat2 must have the same dtype, but got {first} and {second}",
            "self and mat2 must have the same dtype, but got {first} and {second}",
        ),
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "expected dtype",
        "expected scalar type {expected} but found {found}",
        detail="One argument is {found}; the kernel expects {expected}.",
        cause="The kernel expects the same dtype for all its arguments, and converts none of them.",
        fix="Convert the argument: x.float(), x.long() for indices, or x.to(other.dtype).",
        or_says=(
            "Expected object of scalar type {expected} but got scalar type {found} for argument",
            "expected object of scalar type {expected} but got {found}",
        ),
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "found dtype",
        "Found dtype {found} but expected {expected}",
        detail="One argument is {found}; the kernel expects {expected}.",
        cause="The arguments of this operator must have the same dtype. Usually the labels are integers or float64, "
        "and the prediction is float32.",
        fix="Convert the target: target.float(), or target.to(prediction.dtype).",
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "dtypes of two vectors",
        "expected both vectors to have same dtype, but found {first} and {second}",
        detail="One vector is {first}; the other is {second}.",
        cause="dot() does not promote dtypes.",
        fix="Convert one of them: y.to(x.dtype).",
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "dtypes of input and weight",
        "Input type ({input}) and {parameter} type ({other}) should be the same",
        detail="The input is {input}; the {parameter} is {other}.",
        cause="The input of a layer must have the dtype and device of its parameters, and one of the two differs here. "
        "A type name with cuda in it means the GPU.",
        fix="Move and convert the input with x.to(layer.weight), or move the model: model.to(x.device).",
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "mean of integers",
        "could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {dtype}",
        detail="The tensor is {dtype}.",
        cause="A mean is usually not an integer, and mean() keeps the dtype of its input.",
        fix="Convert first: x.float().mean(), or x.mean(dtype=torch.float32).",
        or_says=(
            "expected input to have floating point or complex dtype but got {dtype}",
            "Can only calculate the mean of floating types. Got {dtype} instead.",
        ),
        diagnosis="dtypes: floating point",
    ),
    KnownMessage(
        "kernel not for this dtype",
        "\"{kernel}\" not implemented for '{dtype}'",
        detail="The kernel {kernel} was called with {dtype}.",
        cause="The kernel is compiled for certain dtypes, and this one is not among them. Usual cases are integers "
        "where floating point numbers belong, and half precision on the CPU.",
        fix="Convert the argument, for example with x.float(), and labels to the dtype that the loss expects.",
        or_says=("{kernel} not implemented for '{dtype}'", "{kernel} is not implemented for type {dtype}"),
        diagnosis="no kernel: dtype",
    ),
    KnownMessage(
        "dtype of embedding indices",
        "Expected tensor for argument #{number:n} '{argument}' to have one of the following scalar types: "
        "{types:text}; but got {got} instead",
        detail="{argument} is a {got}; the operator takes {types}.",
        cause="An embedding looks up rows by number, and row numbers must be integers.",
        fix="Convert the indices: x.long().",
        or_says=(
            "Expected tensor for argument #{number:n} '{argument}' to have scalar type {types}; but got {got} instead",
        ),
        diagnosis="dtypes: indices",
    ),
    KnownMessage(
        "dtype of class indices",
        "expected target dtype to be Long or Byte, but got {dtype}",
        detail="The target is {dtype}.",
        cause="Class numbers must be integers. cross_entropy() accepts floating point targets only as probabilities "
        "with the shape of the input.",
        fix="Convert the target: target.long().",
        diagnosis="dtypes: targets",
    ),
    KnownMessage(
        "subtraction of bool",
        "Subtraction, the `-` operator, with {which:text} not supported",
        cause="PyTorch does not define a subtraction of Booleans.",
        fix="Use ^ or logical_xor(), use ~ for `not`, or convert to numbers first: mask.int().",
        or_says=("Subtraction, the `-` operator, with a bool tensor is not supported",),
        diagnosis="dtypes: arithmetic of bool",
    ),
    KnownMessage(
        "probability out of range",
        "all elements of input should be between 0 and 1",
        cause="binary_cross_entropy() takes probabilities. The scores of a last layer without sigmoid can be outside 0 "
        "to 1, and NaN is too.",
        fix="Use binary_cross_entropy_with_logits() on the scores, and check them for NaN.",
        or_says=("Assertion `input_val >= zero && input_val <= one` failed",),
    ),
    KnownMessage(
        "probabilities to sample from",
        "probability tensor contains either `inf`, `nan` or element < 0",
        cause="multinomial() samples by weight, and one weight is negative, infinite or NaN. Usually the scores of a "
        "network were NaN before softmax.",
        fix="Pass the result of softmax, and look for the first NaN in the output of the network.",
    ),
    KnownMessage(
        "negative integer power",
        "Integers to negative integer powers are not allowed",
        cause="The result would be a fraction, and a power of integers keeps their dtype.",
        fix="Convert first: x.float() ** -1.",
    ),
    KnownMessage(
        "imaginary part of real",
        "imag is not implemented for tensors with non-complex dtypes",
        cause="imag() returns a view of the imaginary part, and a real tensor stores none.",
        fix="Use torch.zeros_like(x), or convert x to a complex dtype first.",
    ),
    KnownMessage(
        "out of another dtype",
        "Expected out tensor to have dtype {expected}, but got {got} instead",
        detail="The result is {expected}; out= is {got}.",
        cause="This operator writes its result into the out= tensor without converting it.",
        fix="Create the out= tensor with the dtype of the result, or leave out= out.",
    ),
    KnownMessage(
        "strings as data",
        "too many dimensions '{type}'",
        detail="The list holds values of type {type}.",
        cause="A tensor holds numbers, not strings or other objects.",
        fix="Convert strings to numbers first, for example to their indices in a vocabulary.",
    ),
    KnownMessage(
        "array of objects",
        "can't convert np.ndarray of type {type}.",
        detail="The array has the dtype {type}.",
        cause="PyTorch has no dtype for objects. NumPy creates an array of objects from rows of different lengths and "
        "from mixed columns of a table.",
        fix="Convert the array first: array.astype(numpy.float32). Look for strings and missing values in it.",
    ),
    KnownMessage(
        "module to integers",
        "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}",
        detail="The requested dtype is {dtype}.",
        cause="Parameters are trained with gradients, and integers have none.",
        fix="To save memory use float16 or bfloat16, or quantize the model with torch.ao.quantization.",
    ),
    KnownMessage(
        "number too large",
        "value cannot be converted to type {dtype} without overflow",
        detail="The dtype is {dtype}.",
        cause="The number is outside the range of the dtype. A usual case is -1e9 in a mask for half precision.",
        fix="Use torch.finfo(x.dtype).min for a mask, or a larger dtype.",
    ),
)
"""One entry for each message."""
