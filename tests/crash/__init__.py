"""The kill matrix: real processes, struck at every durable boundary, then healed and examined."""
