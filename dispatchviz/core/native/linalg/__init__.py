"""Linear algebra: matrix products, decompositions, equations."""
