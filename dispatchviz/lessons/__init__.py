"""Guided lessons: short programs with prose, stops with names, questions before answers and a closing assertion."""
