"""Tests of the pytest plugin and of assertions about a trace."""
