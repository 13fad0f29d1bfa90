"""The statements, a module a subject, in the order in which a call meets them."""
