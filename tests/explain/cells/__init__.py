"""Tests of what is said of dispatch tables without a program."""
