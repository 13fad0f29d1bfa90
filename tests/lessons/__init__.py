"""Tests of lessons: their form, their stops, the lessons that ship."""
