"""Tests of lessons: their format, their stops, the shipped lessons."""
