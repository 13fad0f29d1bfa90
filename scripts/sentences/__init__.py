"""All sentences of dispatchviz about PyTorch: ``python -m scripts.sentences`` writes the page."""
