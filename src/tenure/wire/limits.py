"""The documented limits of the protocol; a request beyond one is refused and nothing of it is stored."""

from tenure.core.canonical import DEPTH_MAX

BODY_BYTES_MAX = 4 * 1024 * 1024
"""Bound: one request's body."""

ANSWER_BYTES_MAX = 256 * 1024 * 1024
"""Bound: what a client reads of one answer; a page of tasks with large results is the largest."""

BODY_DEPTH_MAX = DEPTH_MAX
"""Bound: lists and objects inside each other in a request's body."""

TASKS_MAX = LEASES_MAX = ACKS_MAX = EVENTS_MAX = 1_000
"""Bound: tasks, leases, acknowledgements and events in one call."""

EFFECTS_MAX = CLAIMS_MAX = 100
"""Bound: effects and claims in one call."""

PAGE_MAX = 1_000
"""Bound: lines of a list in one answer."""

PAGE = 50
"""Lines of a list in one answer, if the caller states no other number."""

WAIT_S_MAX = 60.0
"""Bound: how long a call may wait for work."""

LABELS_MAX = 64
"""Bound: labels of a task or a worker."""

LABEL_CHARACTERS_MAX = 256
"""Bound: a label's key or value."""

EFFECT_NAME_CHARACTERS_MAX = 200
"""Bound: an effect's name."""

EVENT_BYTES_MAX = 16 * 1024 * 1024
"""Bound: one event of a stream: a task's input and the evidence for it."""

KEEP_ALIVE_S = 10.0
"""A stream with nothing to say sends a comment so often."""

SILENCE_S = 30.0
"""A stream that was silent for so long is taken for dead."""
