"""The names that learners search for, each with a place in dispatchviz that shows it."""
