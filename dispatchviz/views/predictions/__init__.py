"""Predict mode in the stepper: the step at which a question is asked, the outcomes that are hidden, and the guesses."""
