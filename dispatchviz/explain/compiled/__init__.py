"""What ``torch.compile`` traced: its graphs, the line that runs at a step, the kernels that the Python dispatcher picked."""
