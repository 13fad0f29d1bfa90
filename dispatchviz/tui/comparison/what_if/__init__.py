"""The what-if feature: changes to try at a step, and the program run again with one of them, beside its own run."""
