"""The messages that are known: each is raised by its program, and recognized as that one alone."""
