"""Tests of the pytest plugin and of expectations over a trace."""
