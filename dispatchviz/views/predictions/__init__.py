"""Questions before answers in the stepper: which step stops, what is hidden meanwhile, what was guessed."""
