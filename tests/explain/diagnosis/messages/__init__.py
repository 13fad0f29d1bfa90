"""The messages that are known: each is raised by its program, and recognised as that one alone."""
