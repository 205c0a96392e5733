"""How long an execution may run, be silent, or go on without a lease. B10, D14."""

from functools import partial

from tenure.core.capability import Recovery
from tenure.worker.books import Entry, Why
from tenure.worker.stops import Stops
from tenure.worker.tools import Tools


class Limits:
    """Watches the executions that have limits; one that has none costs nothing."""

    def __init__(self, tools: Tools, stops: Stops) -> None:
        """Stop what goes beyond its limits this way."""
        self._tools = tools
        self._alarms = tools.alarms
        self._stops = stops

    def watch(self, entry: Entry) -> None:
        """Begin to watch an execution that begins now."""
        now = self._alarms.now()
        spec = entry.attempt.spec
        if spec.timeout_s is not None:
            self._at(entry, now + spec.timeout_s, partial(self._stops.stop, entry, Why.TIMEOUT))
        if spec.silence_s is not None:
            self._at(entry, now + spec.silence_s, partial(self._judge_silence, entry, spec.silence_s))
        if entry.attempt.rule is Recovery.MANUAL and entry.deadline is not None:
            self._at(entry, self._give_up_at(entry, entry.deadline), partial(self._judge_lease, entry))

    def clear(self, entry: Entry) -> None:
        """Watch no longer."""
        for alarm in entry.alarms:
            self._alarms.call_off(alarm)
        entry.alarms.clear()

    def _at(self, entry: Entry, due: float, ring: partial[None]) -> None:
        entry.alarms.append(self._alarms.at(due, ring))

    def _judge_silence(self, entry: Entry, silence_s: float) -> None:
        due = entry.last_sign + silence_s
        if self._alarms.now() >= due:
            self._stops.stop(entry, Why.SILENT)
        else:
            self._at(entry, due, partial(self._judge_silence, entry, silence_s))

    def _judge_lease(self, entry: Entry) -> None:
        """Give manual work up before somebody else could be asked about it: a grace before, then for good."""
        deadline = entry.deadline or 0.0
        now = self._alarms.now()
        if now >= deadline:
            self._stops.kill(entry)
        elif now >= self._give_up_at(entry, deadline):
            self._stops.stop(entry, Why.FENCED)
            self._at(entry, deadline, partial(self._stops.kill, entry))
        else:
            self._at(entry, self._give_up_at(entry, deadline), partial(self._judge_lease, entry))

    def _give_up_at(self, entry: Entry, deadline: float) -> float:
        return deadline - min(self._tools.config.cancel_grace_s, entry.attempt.spec.lease_ttl_s / 3)
