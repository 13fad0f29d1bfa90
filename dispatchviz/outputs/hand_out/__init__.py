"""Hand-outs: text in Markdown, with pictures in files beside it."""
