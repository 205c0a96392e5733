"""Handlers by resource: each takes a read call, asks the service once, and returns what is to be encoded."""
