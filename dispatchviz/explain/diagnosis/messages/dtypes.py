"""Messages about dtypes and about values that a kernel does not take."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

DTYPES = (
    KnownMessage(
        "dtypes of a product",
        "expected m1 and m2 to have the same dtype, but got: {first} != {second}",
        detail="The first matrix is {first}, the second {second}.",
        cause="Products of matrices do not promote dtypes: both must have the same one. NumPy's arrays are float64 "
        "(double), a model's parameters float32 (float).",
        fix="Convert the input: x.float(), or x.to(layer.weight.dtype); in mixed precision use torch.autocast.",
        or_says=(
            "mat1 and mat2 must have the same dtype, but got {first} and {second}",
            "self and mat2 must have the same dtype, but got {first} and {second}",
        ),
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "expected dtype",
        "expected scalar type {expected} but found {found}",
        detail="One argument is {found}, the kernel expects {expected}.",
        cause="The kernel reads all its arguments as numbers of one dtype and converts none.",
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
        detail="One argument is {found}, the kernel expects {expected}.",
        cause="The arguments of this operator must have one dtype: usually labels are whole numbers or float64, and "
        "the prediction is float32.",
        fix="Convert the target: target.float(), or target.to(prediction.dtype).",
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "dtypes of two vectors",
        "expected both vectors to have same dtype, but found {first} and {second}",
        detail="One vector is {first}, the other {second}.",
        cause="dot does not promote dtypes.",
        fix="Convert one of them: y.to(x.dtype).",
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "dtypes of input and weight",
        "Input type ({input}) and {parameter} type ({other}) should be the same",
        detail="The input is {input}, the {parameter} {other}.",
        cause="A layer's kernel takes an input of the dtype and on the device of its parameters: here one of the two "
        "differs (a name with cuda in it is on the GPU).",
        fix="Move and convert the input: x.to(layer.weight) has both; or move the model: model.to(x.device).",
        diagnosis="dtypes: arguments differ",
    ),
    KnownMessage(
        "mean of integers",
        "could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {dtype}",
        detail="The tensor is {dtype}.",
        cause="A mean has a fraction, and mean() keeps the dtype of its input.",
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
        cause="A kernel is compiled for some dtypes, and the dtype of this argument is not among them: whole numbers "
        "where floating point numbers belong, or half precision on the CPU.",
        fix="Convert the argument, for example x.float(), and labels to the dtype that the loss asks for.",
        or_says=("{kernel} not implemented for '{dtype}'", "{kernel} is not implemented for type {dtype}"),
        diagnosis="no kernel: dtype",
    ),
    KnownMessage(
        "dtype of embedding indices",
        "Expected tensor for argument #{number:n} '{argument}' to have one of the following scalar types: "
        "{types:text}; but got {got} instead",
        detail="{argument} is a {got}; the operator takes {types}.",
        cause="An embedding looks up rows by their numbers, and these must be whole.",
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
        cause="Class numbers are whole numbers; cross_entropy takes floating point targets only as probabilities, of "
        "the shape of the input.",
        fix="Convert the target: target.long().",
        diagnosis="dtypes: targets",
    ),
    KnownMessage(
        "subtraction of bool",
        "Subtraction, the `-` operator, with {which:text} not supported",
        cause="PyTorch does not say what True - True is.",
        fix="Use ^ or logical_xor, ~ for `not`, or convert to numbers before: mask.int().",
        or_says=("Subtraction, the `-` operator, with a bool tensor is not supported",),
        diagnosis="dtypes: arithmetic of bool",
    ),
    KnownMessage(
        "probability out of range",
        "all elements of input should be between 0 and 1",
        cause="binary_cross_entropy takes probabilities; scores of a last layer without sigmoid go beyond, and so does "
        "NaN.",
        fix="Use binary_cross_entropy_with_logits on the scores, and look for NaN in them.",
        or_says=("Assertion `input_val >= zero && input_val <= one` failed",),
    ),
    KnownMessage(
        "probabilities to sample from",
        "probability tensor contains either `inf`, `nan` or element < 0",
        cause="multinomial draws by weights, and one of them is negative, infinite or NaN: usually the scores of a "
        "network were NaN before softmax.",
        fix="Pass the result of softmax, and look for the first NaN in the network's output.",
    ),
    KnownMessage(
        "negative integer power",
        "Integers to negative integer powers are not allowed",
        cause="The result is a fraction, and a power of whole numbers keeps their dtype.",
        fix="Convert first: x.float() ** -1.",
    ),
    KnownMessage(
        "imaginary part of real",
        "imag is not implemented for tensors with non-complex dtypes",
        cause="A real tensor stores no imaginary part, and imag gives a view.",
        fix="Use torch.zeros_like(x), or make x complex before.",
    ),
    KnownMessage(
        "out of another dtype",
        "Expected out tensor to have dtype {expected}, but got {got} instead",
        detail="The result is {expected}, out= is {got}.",
        cause="This operator writes its result as it is into the tensor of out=.",
        fix="Create the tensor of out= with the dtype of the result, or leave out= out of the call.",
    ),
    KnownMessage(
        "strings as data",
        "too many dimensions '{type}'",
        detail="The list holds values of type {type}.",
        cause="A tensor holds numbers; strings and other objects are none.",
        fix="Iteration strings into numbers first, for example by an index of the vocabulary.",
    ),
    KnownMessage(
        "array of objects",
        "can't convert np.ndarray of type {type}.",
        detail="The array has the dtype {type}.",
        cause="PyTorch has no such dtype. An array of objects comes from rows of different length or from mixed columns"
        " of a table.",
        fix="Convert the array before: array.astype(numpy.float32); look for strings and missing values in it.",
    ),
    KnownMessage(
        "module to integers",
        "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}",
        detail="{dtype} was asked for.",
        cause="Parameters are trained by gradients, and whole numbers have none.",
        fix="Use float16 or bfloat16 for less memory, or quantize the model with torch.ao.quantization.",
    ),
    KnownMessage(
        "number too large",
        "value cannot be converted to type {dtype} without overflow",
        detail="The dtype is {dtype}.",
        cause="The number lies beyond what the dtype can hold: -1e9 in a mask for half precision is usual.",
        fix="Use torch.finfo(x.dtype).min for a mask, or a larger dtype.",
    ),
)
"""One entry for each message."""
