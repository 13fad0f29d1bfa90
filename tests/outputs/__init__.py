"""Tests of files and printed text: logs, pages, pictures, tables."""
