"""Tests of the machine."""
