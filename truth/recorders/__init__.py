"""The recorders, one module for each record: each runs questions on an installed PyTorch and returns the text of its
files.

``files(part)`` yields the file and text of the whole record, or of a part. ``differences(path, old, new)`` returns the
differences if numbers may be rounded differently on another processor. ``truth/record.py`` writes and compares.
"""
