"""Numbers and instants that are bounded wherever they are decoded: no store meets what it cannot keep."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

WHOLE_MAX = 2**53 - 1
"""Bound: the largest whole number that every JSON reader keeps exactly."""

Instant = Annotated[datetime, Meta(tz=True)]
"""An instant with its offset from UTC; one without is refused when it is decoded."""

Count = Annotated[int, Meta(ge=0, le=WHOLE_MAX)]
"""A whole number of 0 or more."""

Whole = Annotated[int, Meta(ge=-WHOLE_MAX, le=WHOLE_MAX)]
"""A whole number."""
