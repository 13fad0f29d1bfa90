"""An index of a trace: its tensors, Nodes and steps, their names and enclosing steps, looked up on demand."""
