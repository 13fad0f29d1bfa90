"""Tests of ``explain/cells/registration``: the way in which dispatch tables are filled."""
