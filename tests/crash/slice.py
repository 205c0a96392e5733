"""The part of the matrix that `make test` runs: every point, every blow and every kind at least once.

Written down rather than drawn, so that a run that is green today visits the same places tomorrow. The cells
are those where a wrong order of two steps would show: the windows around each durable write.
"""

from tests.crash.cells import Cell, all_cells, select

_NAMES = """
command_received,lose_reply,resume
inbox_committed,kill_supervisor,query
ack_sent,kill_server,recompute
ack_answered,lose_reply,manual
running_committed,kill_supervisor,manual
handed_to_executor,kill_executor,recompute
checkpoint_committed,kill_supervisor,resume
intent_saved,kill_supervisor,query-blind
witness_answered,kill_supervisor,query
witness_answered,delay,query
inside_apply,kill_executor,query-blind
inside_apply,lose_reply,query
inside_apply,delay,manual
applied,kill_supervisor,query
applied,kill_supervisor,query-blind
applied,kill_executor,resume
result_saved,kill_executor,manual
result_saved,kill_server,query-blind
final_committed,kill_supervisor,manual
event_sent,lose_reply,recompute
event_answered,kill_server,resume
reported,kill_executor,query
claim_committed,kill_server,resume
ack_committed,kill_supervisor,manual
witness_committed,kill_server,query
witness_committed,lose_reply,query-blind
event_committed,kill_server,manual
answer_sent,kill_supervisor,recompute
running_committed,delay,resume
handed_to_executor,delay,manual
"""

SLICE: tuple[Cell, ...] = tuple(select(all_cells(), name)[0] for name in _NAMES.split())
