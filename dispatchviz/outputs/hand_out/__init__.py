"""Hand-outs: text in Markdown, pictures in files beside it."""
