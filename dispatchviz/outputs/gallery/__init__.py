"""A folder of interactive pages with one page that lists them. It works from a file and on any static host."""
