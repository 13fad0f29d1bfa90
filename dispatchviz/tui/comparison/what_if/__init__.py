"""What if: the changes that may be tried at a step, and the program run again with one, beside its own run."""
