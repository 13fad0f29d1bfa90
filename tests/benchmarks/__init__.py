"""Tests that the benchmarks run, regardless of speed."""
