"""An executor shares the fate of its supervisor: the first lines of its process. C122.

Nothing of the author's has run when this is done. From then on the kernel kills this process with its
supervisor, and what this process starts holds neither its line nor its lock.
"""

import ctypes
import faulthandler
import os
import signal
import sys
from types import FrameType
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def bind_to_supervisor(supervisor: int, descriptors: tuple[int, ...]) -> bool:
    """Share the supervisor's fate, and say whether it still lives.

    Args:
        supervisor: Its pid; the caller ends when this returns False.
        descriptors: Those that no child of this process may hold.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _keep_to_ourselves(descriptors)
    # An interrupt at the terminal and a stop of the whole service are for the supervisor to act on. Why not
    # SIG_IGN: programs that the author starts would inherit that.
    signal.signal(signal.SIGINT, _ignore)
    signal.signal(signal.SIGTERM, _ignore)
    faulthandler.enable()
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)  # so that little is unsaid when the process is killed
    # It may have died before the kernel was told; then the line is closed as well, but sooner is better.
    return os.getppid() == supervisor


def _keep_to_ourselves(descriptors: tuple[int, ...]) -> None:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - takes no name
    os.register_at_fork(after_in_child=close)  # a fork without exec would keep the lock


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing."""
