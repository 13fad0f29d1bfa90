"""What happens at a call: how it finds its cell, and how a structured kernel provides its output."""
