"""The hooks on tensors and Nodes."""
