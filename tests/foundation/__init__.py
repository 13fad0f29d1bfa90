"""Tests of the helpers below everything else."""
