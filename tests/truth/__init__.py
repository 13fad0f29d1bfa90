"""Tests of the records and of how they are written down."""
