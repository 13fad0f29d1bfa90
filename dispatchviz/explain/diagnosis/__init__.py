"""Diagnoses: why a program failed or computes something else than its author wants, from its trace alone."""
