"""Tests of notebooks: cells as programs, the magics, saved output."""
