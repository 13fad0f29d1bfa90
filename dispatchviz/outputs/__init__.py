"""A trace as a file or as printed text, a folder per format."""
