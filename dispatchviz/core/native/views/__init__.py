"""Views: other sizes and strides on the same storage."""
