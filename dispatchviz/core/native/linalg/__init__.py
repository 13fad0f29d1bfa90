"""Linear algebra: matrix multiplication, decompositions, solvers."""
