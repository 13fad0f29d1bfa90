"""All that dispatchviz says about PyTorch, sentence by sentence: ``python -m scripts.sentences`` writes the page."""
