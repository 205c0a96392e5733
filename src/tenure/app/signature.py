"""A capability's parameters as its input: checked against the type hints, described as JSON Schema. C074."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import PurePath
from typing import Final, cast, get_type_hints

import msgspec
from msgspec import UNSET, Struct

from tenure.app.values import from_json, to_json
from tenure.core.errors import Invalid, InvalidConfig

Function = Callable[..., object]

_MISSING: Final = re.compile(r"Object missing required field `([^`]*)`(?: - at `\$(.*)`)?$", re.DOTALL)
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]*)`(?: - at `\$(.*)`)?$", re.DOTALL)
_ELSEWHERE: Final = re.compile(r"(.*?)(?: - at `\$(.*)`)?$", re.DOTALL)


class Signature:
    """What a capability takes and returns, read from its function.

    The first parameter is the attempt; the others are the members of the input object. Hints are read when
    they are first needed, since a type may be defined further down in the module.
    """

    def __init__(self, name: str, function: Function) -> None:
        """Look at the parameters; refuse those that no input object can fill."""
        self.name = name
        self._function = function
        parameters = list(inspect.signature(function).parameters.values())
        self._attempt = _attempt_parameter(name, parameters)
        self._inputs = {parameter.name: parameter for parameter in parameters[1:]}
        for parameter in self._inputs.values():
            _check_kind(name, parameter)

    @property
    def names(self) -> tuple[str, ...]:
        """The members of the input, in the order in which they are declared."""
        return tuple(self._inputs)

    @property
    def attempt_type(self) -> object:
        """What the first parameter is annotated with; None: nothing."""
        return self._hints.get(self._attempt)

    @property
    def is_readable(self) -> bool:
        """Whether all hints are defined by now; a type may follow further down in the module."""
        try:
            _ = self._hints
        except InvalidConfig:
            return False
        return True

    @property
    def result_type(self) -> object:
        """What the function says it returns; `object` when it says nothing."""
        return self._hints.get("return", object)

    def read(self, value: object) -> dict[str, object]:
        """Return the function's arguments from a JSON input.

        Raises:
            Invalid: It does not fit; names the member at fault.
        """
        try:
            fields = from_json(value, self._input_type)
        except msgspec.ValidationError as error:
            raise self._refusal(str(error)) from error
        except RecursionError as error:
            raise Invalid("it is too deep", path="input") from error
        return {name: item for name in self._inputs if (item := getattr(fields, name)) is not UNSET}

    def write(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the JSON input of a submission from arguments by name, checked as the executor will.

        Raises:
            Invalid: It does not fit; names the member at fault.
        """
        value = {name: to_json(item, f"input.{name}") for name, item in arguments.items()}
        self.read(value)
        return value

    def read_result(self, value: object) -> object:
        """Return a result from JSON in the type that the function says it returns.

        Raises:
            Invalid: It does not fit; another version of the capability may have made it.
        """
        try:
            return from_json(value, cast("type[object]", self.result_type))
        except msgspec.ValidationError as error:
            raise Invalid(f"does not fit what {self.name} says it returns: {error}", path="result") from error

    @cached_property
    def schema(self) -> dict[str, object]:
        """The JSON Schema of the input object.

        Raises:
            InvalidConfig: A parameter has a type that JSON cannot fill.
        """
        try:
            described = msgspec.json.schema(self._input_type, schema_hook=_describe)
        except (TypeError, NotImplementedError) as error:
            raise self._unusable_type(error) from error
        definitions = cast("dict[str, dict[str, object]]", described.pop("$defs"))
        schema = definitions.pop(cast("str", described["$ref"]).rpartition("/")[2])
        schema["title"] = self.name
        self._add_defaults(cast("dict[str, dict[str, object]]", schema["properties"]))
        return {**schema, "$defs": definitions} if definitions else schema

    @cached_property
    def _hints(self) -> dict[str, object]:
        try:
            return get_type_hints(self._function, include_extras=True)
        except NameError as error:
            raise InvalidConfig(
                f"the hint {error.name!r} of {self.name} is not defined at run time; import it outside of "
                "TYPE_CHECKING, so that the input can be checked",
                path=self.name,
            ) from error

    @cached_property
    def _input_type(self) -> type[Struct]:
        fields: list[tuple[str, type] | tuple[str, type, object]] = []
        for name, parameter in self._inputs.items():
            kind = cast("type", self._hints.get(name, object))
            required = parameter.default is inspect.Parameter.empty
            # A default stays the function's own affair: here it only says that the member may be left out.
            fields.append((name, kind) if required else (name, kind, UNSET))
        return msgspec.defstruct("Input", fields, kw_only=True, forbid_unknown_fields=True)

    def _add_defaults(self, properties: dict[str, dict[str, object]]) -> None:
        for name, parameter in self._inputs.items():
            if parameter.default is not inspect.Parameter.empty:
                try:
                    properties[name]["default"] = to_json(parameter.default, name)
                except Invalid:
                    continue  # A sentinel of the function's own says nothing to others

    def _refusal(self, text: str) -> Invalid:
        takes = f"{self.name} takes {', '.join(self._inputs) or 'no input'}"
        for pattern, says in ((_MISSING, "is missing"), (_UNKNOWN, "is not known")):
            if member := pattern.match(text):
                path = f"input{member[2] or ''}.{member[1]}"
                return Invalid(says if member[2] else f"{says}; {takes}", path=path)
        place = cast("re.Match[str]", _ELSEWHERE.match(text))
        fault = place[1].replace("`", "").replace("Invalid enum value", "No known value:")
        if not place[2]:
            return Invalid(f"{fault.lower()}; {takes}", path="input")
        return Invalid(fault[:1].lower() + fault[1:], path=f"input{place[2]}")

    def _unusable_type(self, error: Exception) -> InvalidConfig:
        for name in self._inputs:
            kind = self._hints.get(name, object)
            try:
                msgspec.json.schema(kind, schema_hook=_describe)
            except (TypeError, NotImplementedError):
                shown = getattr(kind, "__name__", str(kind))
                return InvalidConfig(
                    f"parameter {name!r} is of type {shown}, which cannot be made from JSON; use a "
                    "dataclass, a msgspec Struct, a pydantic model or JSON's own types",
                    path=self.name,
                )
        return InvalidConfig(str(error), path=self.name)


def _attempt_parameter(name: str, parameters: list[inspect.Parameter]) -> str:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in kinds:
        raise InvalidConfig("the first parameter of a capability is its attempt", path=name)
    return parameters[0].name


def _check_kind(name: str, parameter: inspect.Parameter) -> None:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        raise InvalidConfig(
            f"{parameter} cannot be checked; name each parameter, or take one dict for what is free",
            path=name,
        )
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise InvalidConfig(
            f"parameter {parameter.name!r} takes no name, and an input's members have names; leave out '/'",
            path=name,
        )


def _describe(kind: type) -> dict[str, object]:
    describe = getattr(kind, "model_json_schema", None)
    if describe is not None:
        schema = cast("dict[str, object]", describe())
        # Its references point into its own document, so a model with parts is described by name only.
        return {"type": "object", "title": kind.__name__} if "$defs" in schema else schema
    if issubclass(kind, PurePath):
        return {"type": "string"}
    if kind is object:
        return {"description": "any JSON value"}
    raise NotImplementedError(f"{kind.__name__} cannot be made from JSON")
