"""Textual widgets: lists of rows under a title, bars, the input line. Their contents are made elsewhere."""
