"""The graphs that ``torch.compile`` traced, and the line that runs at a step."""
