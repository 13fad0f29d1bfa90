"""Tests of the sentences about dispatch tables without a program."""
