"""Tests of notes and of the finished trace."""
