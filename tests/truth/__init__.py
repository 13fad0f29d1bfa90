"""Tests of the records and their formats."""
