"""What is said of tensors and Nodes when they are asked about, and the way from forward to backward."""
