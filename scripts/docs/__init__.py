"""The documentation: pages that are written by running the commands that they show, and the site made of all of
them.
"""
