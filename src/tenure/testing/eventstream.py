"""Edits a server-sent event stream on its way: other line endings, an end after so many events."""

import re

LINE_END = re.compile(rb"\r\n|\r|\n")


class EventStream:
    """One stream; sees its bytes in pieces that end anywhere."""

    def __init__(self) -> None:
        """Stand at the beginning of the stream."""
        self.events = 0
        self._line = b""
        self._has_fields = False

    def take(self, payload: bytes, *, ending: bytes | None, events_max: int | None) -> bytes:
        """Return the piece as it goes on, cut behind the last event that may pass.

        Args:
            payload: What the server sent; lines end in a line feed, as those of our server do.
            ending: What lines shall end with; None leaves them.
            events_max: How many events of this stream may pass. Comments are no events.

        """
        if events_max is not None and self.events >= events_max:
            return b""
        passed = self._until(payload, events_max)
        return passed if ending is None else LINE_END.sub(lambda _: ending, passed)

    def _until(self, payload: bytes, events_max: int | None) -> bytes:
        """Count events and return what comes before the last one's end."""
        start = 0
        while (end := payload.find(b"\n", start)) >= 0:
            line = (self._line + payload[start:end]).rstrip(b"\r")
            self._line = b""
            start = end + 1
            if line:
                self._has_fields |= not line.startswith(b":")
            elif self._has_fields:
                self._has_fields = False
                self.events += 1
                if self.events == events_max:
                    return payload[:start]
        self._line += payload[start:]
        return payload
