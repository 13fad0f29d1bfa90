"""Messages of products and of linear algebra."""

from __future__ import annotations

from dispatchviz.explain.diagnosis.messages.known_message import KnownMessage

MATRICES = (
    KnownMessage(
        "matrices do not fit",
        "mat1 and mat2 shapes cannot be multiplied ({rows:n}x{inner:n} and {other:n}x{columns:n})",
        detail="mat1 has {inner} columns; mat2 has {other} rows.",
        cause="A matrix product needs as many rows in the second matrix as the first has columns. In nn.Linear, mat1 "
        "is the input, and mat2 is the transposed weight, which has in_features rows.",
        fix="Create nn.Linear with the in_features that its input has, or reshape the input, for example with "
        "flatten(start_dim=1).",
        diagnosis="shapes: features of a layer",
    ),
    KnownMessage(
        "batches do not fit",
        "Expected size for first two dimensions of batch2 tensor to be: {expected:shape} but got: {got:shape}",
        detail="The second tensor begins with the sizes {got}; it should begin with {expected}.",
        cause="A batched matrix product needs the same batch size, and as many rows in each second matrix as the first "
        "has columns. Attention multiplies queries with keys, and the weights with values, in this way.",
        fix="Transpose the second tensor (mT), or give both the same batch size.",
        diagnosis="shapes: factors",
    ),
    KnownMessage(
        "no batch of matrices",
        "{name} must be a 3D tensor",
        detail="{name} has another number of dimensions.",
        cause="bmm() multiplies batches of matrices. Each argument needs three dimensions: batch, rows and columns.",
        fix="Use matmul (@), which takes any number of dimensions, or add a batch dimension with unsqueeze(0).",
        diagnosis="shapes: dimensions of a factor",
    ),
    KnownMessage(
        "no matrix",
        "self must be a matrix",
        cause="mm() multiplies two matrices. It takes neither vectors nor batches.",
        fix="Use matmul (@), which also takes vectors and batches.",
        or_says=("mat2 must be a matrix", "mat1 must be a matrix"),
        diagnosis="shapes: dimensions of a factor",
    ),
    KnownMessage(
        "matrix and vector",
        "size mismatch, got input ({rows:n}), mat ({again:n}x{columns:n}), vec ({vector:n})",
        detail="The matrix has {columns} columns; the vector has {vector} elements.",
        cause="A matrix-vector product needs as many elements in the vector as the matrix has columns.",
        fix="Transpose the matrix, or use a vector of that size.",
        diagnosis="shapes: factors",
    ),
    KnownMessage(
        "matmul of a scalar",
        "both arguments to matmul need to be at least 1D, but they are {first}D and {second}D",
        detail="They have {first} and {second} dimensions.",
        cause="matmul() multiplies vectors, matrices and batches of matrices, but not scalars.",
        fix="Multiply by a scalar with *.",
    ),
    KnownMessage(
        "product of vectors",
        "1D tensors expected, but got {first}D and {second}D tensors",
        detail="They have {first} and {second} dimensions.",
        cause="dot() multiplies two 1-D vectors. Unlike NumPy's dot(), it does not take matrices.",
        fix="Use matmul (@) for matrices.",
    ),
    KnownMessage(
        "vectors of other sizes",
        "inconsistent tensor size, expected tensor {first:shape} and src {second:shape} to have the same number of "
        "elements",
        detail="The vectors have shapes {first} and {second}.",
        cause="dot() multiplies two vectors element by element and adds the products, so both need the same number of "
        "elements.",
        fix="Print both shapes where the vectors are created, and cut or pad one of them.",
        diagnosis="shapes: factors",
    ),
    KnownMessage(
        "transpose of three dimensions",
        "t() expects a tensor with <= 2 dimensions, but self is {dims}D",
        detail="The tensor has {dims} dimensions.",
        cause="t() swaps the rows and columns of a matrix.",
        fix="Use transpose(0, 1) and name the two dimensions, or use mT for a batch of matrices.",
    ),
    KnownMessage(
        "subscripts of einsum",
        "einsum(): subscript {letter} has size {size:n} for operand {operand:n} which does not broadcast with "
        "previously seen size {seen:n}",
        detail="The letter {letter} has size {size} in operand {operand} (counted from 0) and {seen} in another.",
        cause="A letter stands for the same size in all operands.",
        fix="Use another letter for that dimension, or swap the letters of the operand.",
        diagnosis="shapes: einsum",
    ),
    KnownMessage(
        "no square matrix",
        "A must be batches of square matrices, but they are {rows:n} by {columns:n} matrices",
        detail="The matrix has {rows} rows and {columns} columns.",
        cause="Only square matrices have an inverse, a determinant and eigenvalues.",
        fix="Use torch.linalg.lstsq or pinv for other matrices.",
    ),
    KnownMessage(
        "singular matrix",
        "the inversion could not be completed because the input matrix is singular",
        cause="One row of the matrix is a combination of the others, so the matrix has no inverse.",
        fix="Use torch.linalg.lstsq or pinv, or add a small number to the diagonal.",
        or_says=("The solver failed because the input matrix is singular",),
    ),
    KnownMessage(
        "no positive definite",
        "The factorization could not be completed because the input is not positive-definite",
        cause="Only symmetric matrices with positive eigenvalues have a Cholesky factor. Rounding can make an "
        "eigenvalue of a covariance matrix negative.",
        fix="Make the matrix symmetric, add a small number to its diagonal, or compute in float64.",
    ),
    KnownMessage(
        "sizes of tensordot",
        "contracted dimensions need to match, but first has size {first:n} in dim {dim1:n} and second has size "
        "{second:n} in dim {dim2:n}",
        detail="Dimension {dim1} of the first tensor has size {first}; dimension {dim2} of the second has size "
        "{second}.",
        cause="tensordot() multiplies along pairs of dimensions, and both dimensions of a pair must have the same "
        "size.",
        fix="Name the pairs, as in dims=([1], [0]), or transpose one tensor.",
    ),
    KnownMessage(
        "system of equations",
        "Incompatible shapes of A and B for the equation AX = B ({a} and {b})",
        detail="A is {a}; B is {b}.",
        cause="A system of equations has one right-hand side for each row of A.",
        fix="Give B as many rows as A has.",
    ),
    KnownMessage(
        "matrix with NaN",
        "The algorithm failed to converge because the input matrix contained non-finite values",
        cause="The matrix has a NaN or infinite element, which an earlier step produced.",
        fix="Look for the first NaN: torch.isfinite(x).all() after each step.",
    ),
    KnownMessage(
        "adjoint of a vector",
        "is only supported on matrices or batches of matrices. Got {dims}-D tensor",
        detail="The tensor has {dims} dimensions.",
        cause="mT and mH swap the last two dimensions, and a vector has only one.",
        fix="Add a dimension: x[None] is a row, and x[:, None] is a column.",
    ),
)
"""One entry for each message."""
