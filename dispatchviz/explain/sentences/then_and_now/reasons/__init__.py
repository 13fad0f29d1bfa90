"""The reasons, a module a subject."""
