"""The names that learners come with, each with a place of dispatchviz where it is to be seen."""
