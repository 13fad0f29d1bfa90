"""The choice of the engine that runs a program: ``--engine``, the settings, and for ``auto`` the names in its text."""
