"""Assembly: the only place that knows all concrete classes, one module per process kind."""
