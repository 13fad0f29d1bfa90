"""One module a record, by the record's name: what it runs on an installed PyTorch, and the text of its files.

``files(part)`` gives file and text of the whole record, or of a part; ``differences(path, old, new)`` says what differs
where numbers may be rounded otherwise on another processor. ``truth/record.py`` writes and compares.
"""
