"""Tests of the stepper: state and layout as values, screens in Textual's pilot."""
