"""How tables are filled: tests of ``explain/cells/registration``."""
