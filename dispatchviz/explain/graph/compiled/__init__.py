"""What ``torch.compile`` traced: its graphs, and the line that runs at a step."""
