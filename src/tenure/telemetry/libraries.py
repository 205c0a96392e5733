"""What libraries log, and what Python warns about, told as events like everything else."""

import logging
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager

Tell = Callable[..., None]


class _Teller(logging.Handler):
    """Tells each record."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell one record; an error that came with it is told whole."""
        told = "".join(traceback.format_exception(record.exc_info[1])) if record.exc_info else None
        self._tell("library.logged", library=record.name, text=record.getMessage(), traceback=told)


@contextmanager
def libraries_told(tell: Tell) -> Generator[None]:
    """Tell warnings and errors of libraries while the context is open; for a process's assembly alone."""
    handler, root = _Teller(tell), logging.getLogger()
    root.addHandler(handler)
    logging.captureWarnings(capture=True)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
