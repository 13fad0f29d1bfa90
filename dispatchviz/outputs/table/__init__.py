"""Events as rows of a table, for queries over many traces."""
