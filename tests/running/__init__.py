"""Tests of how programs run, recorded."""
