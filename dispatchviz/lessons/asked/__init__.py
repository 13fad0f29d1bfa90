"""A lesson's own questions: their text in the file, their answers as expressions, and the values that these have."""
