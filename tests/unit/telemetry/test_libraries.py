"""What libraries log is told as events."""

import logging
import warnings

import pytest

from tenure.telemetry.libraries import libraries_told


class Told:
    """Keeps what is told."""

    def __init__(self) -> None:
        self.fields: list[dict[str, object]] = []

    def tell(self, name: str, **fields: object) -> None:
        assert name == "library.logged"
        self.fields.append(fields)


def test_warnings_and_errors_are_told_and_nothing_less() -> None:
    told, logger = Told(), logging.getLogger("some.library")
    with libraries_told(told.tell):
        logger.info("little")
        logger.warning("much of %s", "it")
        try:
            raise ValueError("x")
        except ValueError:
            logger.exception("worse")
    logger.info("after")
    assert [(fields["library"], fields["text"]) for fields in told.fields] == [
        ("some.library", "much of it"),
        ("some.library", "worse"),
    ]
    assert "ValueError: x" in str(told.fields[1]["traceback"])


@pytest.mark.filterwarnings("default")
def test_what_python_warns_about_is_told() -> None:
    told = Told()
    with libraries_told(told.tell):
        warnings.warn("old ways", DeprecationWarning, stacklevel=1)
    assert "old ways" in str(told.fields[0]["text"])
