"""What a trace says of its tensors, Nodes and steps, gathered once."""
