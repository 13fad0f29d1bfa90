"""The documentation: pages that are written by running what they show, and the site that is made of all of them."""
