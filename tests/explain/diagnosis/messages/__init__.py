"""Tests of the known messages: each is raised by its program, and recognized as that message only."""
