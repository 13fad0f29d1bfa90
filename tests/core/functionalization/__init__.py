"""Tests of functionalization."""
