"""Tests of logs and pictures."""
