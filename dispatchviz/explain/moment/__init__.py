"""What holds at a step besides calls and graphs: the thread's state, the tensors, what the program has printed."""
