"""Tests of the stepper: its state and layout as values, its screens in Textual's pilot."""
