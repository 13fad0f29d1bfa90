"""Messages of products and of linear algebra."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

MATRICES = (
    KnownMessage(
        "matrices do not fit",
        "mat1 and mat2 shapes cannot be multiplied ({rows:n}x{inner:n} and {other:n}x{columns:n})",
        detail="mat1 has {inner} columns, mat2 has {other} rows.",
        cause="A product of matrices needs as many rows in the second as the first has columns. In nn.Linear mat1 is "
        "the input, and mat2 is the weight, transposed: its rows are in_features.",
        fix="Give nn.Linear the in_features that its input has, or reshape the input, for example with "
        "flatten(start_dim=1).",
        diagnosis="shapes: features of a layer",
    ),
    KnownMessage(
        "batches do not fit",
        "Expected size for first two dimensions of batch2 tensor to be: {expected:shape} but got: {got:shape}",
        detail="The second tensor begins with the sizes {got}, expected are {expected}.",
        cause="A product of two batches needs the same batch size, and as many rows in each second matrix as the first "
        "has columns. Attention multiplies queries with keys, then with values, in this way.",
        fix="Transpose the second tensor (mT), or make both batches of one size.",
        diagnosis="shapes: factors",
    ),
    KnownMessage(
        "no batch of matrices",
        "{name} must be a 3D tensor",
        detail="{name} has another number of dimensions.",
        cause="bmm multiplies batches of matrices: each argument has a batch dimension, rows and columns.",
        fix="Use matmul (@), which takes any number of dimensions, or add the batch dimension with unsqueeze(0).",
        diagnosis="shapes: dimensions of a factor",
    ),
    KnownMessage(
        "no matrix",
        "self must be a matrix",
        cause="mm multiplies two matrices and neither vectors nor batches.",
        fix="Use matmul (@), which takes vectors and batches as well.",
        or_says=("mat2 must be a matrix", "mat1 must be a matrix"),
        diagnosis="shapes: dimensions of a factor",
    ),
    KnownMessage(
        "matrix and vector",
        "size mismatch, got input ({rows:n}), mat ({again:n}x{columns:n}), vec ({vector:n})",
        detail="The matrix has {columns} columns, the vector has {vector} elements.",
        cause="A product of a matrix and a vector needs as many elements in the vector as the matrix has columns.",
        fix="Transpose the matrix, or choose a vector of that size.",
        diagnosis="shapes: factors",
    ),
    KnownMessage(
        "matmul of a scalar",
        "both arguments to matmul need to be at least 1D, but they are {first}D and {second}D",
        detail="They have {first} and {second} dimensions.",
        cause="matmul multiplies vectors, matrices and batches of them, no scalars.",
        fix="Multiply by a scalar with *.",
    ),
    KnownMessage(
        "product of vectors",
        "1D tensors expected, but got {first}D and {second}D tensors",
        detail="They have {first} and {second} dimensions.",
        cause="dot multiplies two vectors of one dimension, unlike the function of that name in NumPy.",
        fix="Use matmul (@) for matrices.",
    ),
    KnownMessage(
        "vectors of other sizes",
        "inconsistent tensor size, expected tensor {first:shape} and src {second:shape} to have the same number of "
        "elements",
        detail="The vectors have the shapes {first} and {second}.",
        cause="dot multiplies two vectors element by element and adds the products: both need the same number.",
        fix="Print both shapes where they are made, and cut or pad one of them.",
        diagnosis="shapes: factors",
    ),
    KnownMessage(
        "transpose of three dimensions",
        "t() expects a tensor with <= 2 dimensions, but self is {dims}D",
        detail="The tensor has {dims} dimensions.",
        cause="t() exchanges rows and columns of a matrix.",
        fix="Use transpose(0, 1) and name the two dimensions, or mT for a batch of matrices.",
    ),
    KnownMessage(
        "subscripts of einsum",
        "einsum(): subscript {letter} has size {size:n} for operand {operand:n} which does not broadcast with "
        "previously seen size {seen:n}",
        detail="The letter {letter} is of size {size} in operand {operand} (counted from 0), and {seen} in another.",
        cause="A letter means one size in all operands.",
        fix="Use another letter for that dimension, or exchange the letters of the operand.",
        diagnosis="shapes: einsum",
    ),
    KnownMessage(
        "no square matrix",
        "A must be batches of square matrices, but they are {rows:n} by {columns:n} matrices",
        detail="The matrix has {rows} rows and {columns} columns.",
        cause="Inverse, determinant and eigenvalues exist for square matrices alone.",
        fix="Use torch.linalg.lstsq or pinv for other matrices.",
    ),
    KnownMessage(
        "singular matrix",
        "the inversion could not be completed because the input matrix is singular",
        cause="Some row of the matrix follows from the others, so that it has no inverse.",
        fix="Use torch.linalg.lstsq or pinv, or add a small number to the diagonal.",
        or_says=("The solver failed because the input matrix is singular",),
    ),
    KnownMessage(
        "no positive definite",
        "The factorization could not be completed because the input is not positive-definite",
        cause="Cholesky factors exist for symmetric matrices with positive eigenvalues alone; a covariance may lose "
        "that by rounding.",
        fix="Make the matrix symmetric, add a small number to its diagonal, or compute in float64.",
    ),
    KnownMessage(
        "sizes of tensordot",
        "contracted dimensions need to match, but first has size {first:n} in dim {dim1:n} and second has size "
        "{second:n} in dim {dim2:n}",
        detail="Dimension {dim1} of the first tensor has the size {first}, dimension {dim2} of the second {second}.",
        cause="tensordot multiplies along pairs of dimensions, and those of a pair have one size.",
        fix="Name the pairs: dims=([1], [0]), or transpose one tensor.",
    ),
    KnownMessage(
        "system of equations",
        "Incompatible shapes of A and B for the equation AX = B ({a} and {b})",
        detail="A is {a}, B is {b}.",
        cause="A system has one right side for each row of A.",
        fix="Give B as many rows as A has.",
    ),
    KnownMessage(
        "matrix with NaN",
        "The algorithm failed to converge because the input matrix contained non-finite values",
        cause="The matrix has a NaN or an infinite element: an earlier step has made it.",
        fix="Look for the first NaN: torch.isfinite(x).all() after each step.",
    ),
    KnownMessage(
        "adjoint of a vector",
        "is only supported on matrices or batches of matrices. Got {dims}-D tensor",
        detail="The number of its dimensions is {dims}.",
        cause="mT and mH exchange the last two dimensions, and a vector has one.",
        fix="Add a dimension: x[None] is a row, x[:, None] a column.",
    ),
)
"""One entry for each message."""
