"""The statements, one module for each subject, in the order in which a call meets them."""
