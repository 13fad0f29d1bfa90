"""Tests of the benchmarks: they run, at any speed."""
