"""Solutions of the last tasks of lessons: each file has the name of its lesson."""
