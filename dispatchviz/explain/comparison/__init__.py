"""A comparison of two runs: their events aligned as trees, the first difference and its cause, and its consequences."""
