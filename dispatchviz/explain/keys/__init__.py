"""Keys and key sets as a reader meets them: names, cards, raw sets of any release."""
