"""Events as rows of a table, for whoever asks about many traces at once."""
