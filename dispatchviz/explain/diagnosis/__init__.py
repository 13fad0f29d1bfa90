"""Diagnoses: the reasons why a program failed or computes something that its author did not intend, from its trace
alone.
"""
