"""Textual widgets: lists of rows under a title, bars, the input line. What they show is made elsewhere."""
