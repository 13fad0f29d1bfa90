"""A learner's own program, compared with the program of a lesson: which facts of the lesson still hold, and hints."""
