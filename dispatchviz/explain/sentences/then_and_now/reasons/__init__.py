"""The reasons, one module for each subject."""
