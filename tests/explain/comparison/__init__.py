"""Tests of the texts about two runs."""
