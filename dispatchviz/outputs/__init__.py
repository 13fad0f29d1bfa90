"""A trace as a file or as printed text, with a folder for each format."""
