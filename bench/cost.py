"""What processes have used, from the operating system: processor time and memory, by the part they play."""

from collections.abc import Mapping, Sequence

import psutil
from msgspec import Struct

MIB = 2**20


class Usage(Struct, frozen=True):
    """Processor seconds used so far and memory held now, by part."""

    cpu_s: dict[str, float]
    rss_mib: dict[str, float]

    def cpu_ms_since(self, before: "Usage", tasks: int) -> dict[str, float]:
        """Return the processor milliseconds per task that each part has used since."""
        return {part: 1000 * (now - before.cpu_s.get(part, 0.0)) / tasks for part, now in self.cpu_s.items()}


def usage(parts: Mapping[str, Sequence[psutil.Process]]) -> Usage:
    """Read every process once; several of one part are added up."""
    cpu_s: dict[str, float] = {}
    rss_mib: dict[str, float] = {}
    for part, processes in parts.items():
        for process in processes:
            with process.oneshot():
                times = process.cpu_times()
                cpu_s[part] = cpu_s.get(part, 0.0) + times.user + times.system
                rss_mib[part] = rss_mib.get(part, 0.0) + process.memory_info().rss / MIB
    return Usage(cpu_s, rss_mib)
