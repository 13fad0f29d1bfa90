"""Position in a trace: the cursor with its moves, breakpoints, marks and search. Knows neither keys nor screens."""
