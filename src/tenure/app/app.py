"""`App`: the capabilities of a module, declared by a decorator that leaves the functions as they are.

Decisions: D22.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Final, TypeVar, cast, get_args

from tenure.app.attempt import AsyncAttempt, Attempt
from tenure.app.signature import Function, Signature
from tenure.core.canonical import digest
from tenure.core.capability import Isolation, Recovery
from tenure.core.errors import Invalid, InvalidConfig
from tenure.core.execution import ManifestEntry
from tenure.core.ids import check_id

F = TypeVar("F", bound=Function)

_MARK: Final = "__tenure__"
_FOUR_RULES: Final = (
    "does not say what may happen to it after a crash; give recovery=Recovery.RECOMPUTE (runs again from the "
    "same input), RESUME (continues from its checkpoint, with window= saying in words what that may repeat), "
    "QUERY (acts only through effects and asks what became of each) or MANUAL (a person decides)"
)
_WINDOWLESS: Final = (
    "resumes from a checkpoint, which may lie behind what has happened; say in words what is done twice "
    "then, as in "
    'window="the last file may be read twice"'
)


class Declaration:
    """One declared capability: its function, and what others need to know of it."""

    def __init__(
        self,
        function: Function,
        name: str,
        version: str,
        recovery: Recovery,
        window: str,
        isolation: Isolation | None,
    ) -> None:
        """Keep what was declared; the default isolation follows from the kind of function."""
        self.function = function
        self.name = name
        self.version = version
        self.recovery = recovery
        self.window = window
        self.is_async = inspect.iscoroutinefunction(function)
        self.isolation: Isolation = isolation or ("shared" if self.is_async else "process")
        self.signature = Signature(name, function)

    def check_attempt(self) -> None:
        """Raise `InvalidConfig` if the function is given another kind of attempt than it says."""
        given, other = (AsyncAttempt, Attempt) if self.is_async else (Attempt, AsyncAttempt)
        if self.signature.attempt_type is not other:
            return
        kind = "an async function" if self.is_async else "a plain function"
        raise InvalidConfig(
            f"{kind} is given an {given.__name__}; write `attempt: {given.__name__}`", path=self.name
        )

    def check_attempt_now(self) -> None:
        """As `check_attempt`, as far as the hints are known already; the manifest checks again."""
        if self.signature.is_readable:
            self.check_attempt()

    def manifest_entry(self) -> ManifestEntry:
        """Return the capability as its worker declares it.

        Raises:
            InvalidConfig: The types of the input cannot be described.
        """
        self.check_attempt()
        schema = self.signature.schema
        depended_on = [self.name, self.version, self.recovery.value, schema]
        return ManifestEntry(
            self.name,
            self.version,
            self.recovery,
            self.window,
            schema,
            self.isolation,
            digest(depended_on, self.name),
        )


def declaration_of(function: object) -> Declaration | None:
    """Return what was declared of a function, or None: it is no capability."""
    found = getattr(function, _MARK, None)
    return found if isinstance(found, Declaration) else None


class App:
    """A named set of capabilities; what `tenure worker --app MODULE:APP` runs."""

    def __init__(self, name: str) -> None:
        """Start without capabilities."""
        self.name = _checked_id("app", name)
        self._declared: dict[tuple[str, str], Declaration] = {}

    @property
    def capabilities(self) -> Mapping[tuple[str, str], Declaration]:
        """What is declared, by name and version."""
        return self._declared

    def capability(
        self,
        name: str,
        *,
        version: str = "1",
        recovery: Recovery | None = None,
        window: str = "",
        isolation: Isolation | None = None,
    ) -> Callable[[F], F]:
        """Declare a function as a capability; the function itself stays as it is.

        Args:
            name: What tasks ask for.
            version: Raise it when an input or the meaning of the work changes.
            recovery: What may happen to the code between effects after a crash. There is no default.
            window: For `RESUME`: what may be done twice, in words.
            isolation: `process`: one execution in a process at a time (default of plain functions).
                `shared`: many, async ones on one loop and plain ones on threads (default of async ones).

        Raises:
            InvalidConfig: A rule is missing, a name is used twice, or the function cannot serve.
        """
        named = _checked_id("capability", name)
        numbered = _checked_id(name, version)
        rule = _checked_rule(name, recovery, window)
        if isolation is not None and isolation not in get_args(Isolation):
            raise InvalidConfig(f"{isolation!r} is no isolation; use 'process' or 'shared'", path=name)
        if (named, numbered) in self._declared:
            raise InvalidConfig(f"version {version} is declared twice; raise the version of one", path=name)

        def declare(function: F) -> F:
            _check_function(name, function)
            declaration = Declaration(function, named, numbered, rule, window, isolation)
            declaration.check_attempt_now()
            self._declared[named, numbered] = declaration
            setattr(function, _MARK, declaration)
            return function

        return declare

    def manifest(self) -> list[ManifestEntry]:
        """Return what a worker registers.

        Raises:
            InvalidConfig: A capability cannot be described, or there is none.
        """
        if not self._declared:
            raise InvalidConfig(
                f"app {self.name!r} declares no capability; decorate a function with @app.capability"
            )
        return [declaration.manifest_entry() for declaration in self._declared.values()]


def _checked_id(path: str, value: str) -> str:
    try:
        return check_id(path, value)
    except Invalid as error:
        raise InvalidConfig(error.fault, path=path) from error


def _checked_rule(name: str, recovery: object, window: str) -> Recovery:
    if recovery is None:
        raise InvalidConfig(_FOUR_RULES, path=name)
    try:
        rule = Recovery(cast("str", recovery))
    except ValueError as error:
        raise InvalidConfig(
            f"{recovery!r} is no recovery rule; use one of {', '.join(Recovery)}", path=name
        ) from error
    if rule is Recovery.RESUME and not window.strip():
        raise InvalidConfig(_WINDOWLESS, path=name)
    return rule


def _check_function(name: str, function: object) -> None:
    if not inspect.isfunction(function):
        raise InvalidConfig(
            f"{type(function).__name__} is no function; declare a `def` or an `async def`", path=name
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidConfig("a capability returns its result once; leave out `yield`", path=name)
