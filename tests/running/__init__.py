"""Tests of running and recording programs."""
