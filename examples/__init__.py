"""Short examples for users; each is run by a test."""
