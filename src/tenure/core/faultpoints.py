"""The named places around every durable boundary where a test may strike."""

from enum import StrEnum


class FaultPoint(StrEnum):
    """A place that the crash suite visits; each is reached right after what its name says."""

    # Supervisor.
    COMMAND_RECEIVED = "command_received"
    INBOX_COMMITTED = "inbox_committed"
    ACK_SENT = "ack_sent"
    ACK_ANSWERED = "ack_answered"
    RUNNING_COMMITTED = "running_committed"
    HANDED_TO_EXECUTOR = "handed_to_executor"
    INTENT_SAVED = "intent_saved"
    WITNESS_ANSWERED = "witness_answered"
    RESULT_SAVED = "result_saved"
    CHECKPOINT_COMMITTED = "checkpoint_committed"
    FINAL_COMMITTED = "final_committed"
    EVENT_SENT = "event_sent"
    EVENT_ANSWERED = "event_answered"
    REPORTED = "reported"
    # Executor.
    INSIDE_APPLY = "inside_apply"
    APPLIED = "applied"
    # Server.
    CLAIM_COMMITTED = "claim_committed"
    ACK_COMMITTED = "ack_committed"
    WITNESS_COMMITTED = "witness_committed"
    EVENT_COMMITTED = "event_committed"
    ANSWER_SENT = "answer_sent"
