"""What a component exports: the glue between an author's class and the contract.

It is imported while the component is made. Nothing is converted: the classes of
the SDK take the place of those that componentize-py generates, before it looks
for them.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import random
import sys
from types import ModuleType
from typing import Any, Callable, Mapping

from componentize_py_types import Err

from . import environment as environments
from . import log, rendering, retrieval, sandbox, settings, testing, types
from . import workflow as workflows
from .author import the_class
from .types import Problem

_SHARED = {
    "Split": types.Split,
    "Status": types.Status,
    "Value_Integer": settings.IntegerValue,
    "Value_Number": settings.NumberValue,
    "Value_Flag": settings.FlagValue,
    "Value_Text": settings.TextValue,
    "Domain_Integer": settings.IntegerDomain,
    "Domain_Number": settings.NumberDomain,
    "Domain_Flag": settings.FlagDomain,
    "Domain_Choice": settings.ChoiceDomain,
    "Domain_Text": settings.TextDomain,
    "Setting": settings.Setting,
    "Configured": settings.Configured,
    "Extra": types.Extra,
    "Needs": types.Needs,
    "Seat": types.Seat,
    "ActionKind": types.ActionKind,
    "Action": types.Action,
    "Move": types.Move,
    "Image": types.Image,
    "Part_Text": types.Text,
    "Part_Image": types.Picture,
    "Fault": types.Fault,
    "Problem": types.Problem,
}
_ENVIRONMENT = {
    "Description": environments.Description,
    "Configuration": environments.Configuration,
    "Task": types.Task,
    "Recipient_Team": environments.Team,
    "Recipient_Mover": environments.Mover,
    "Recipient_Seat": environments.OneSeat,
    "Award": environments.Award,
    "Effect": environments.Effect,
    "Outcome": environments.Outcome,
}
_WORKFLOW = {
    "Description": workflows.Description,
    "Role": workflows.Role,
    "Configuration": workflows.Configuration,
    "Briefing": workflows.Briefing,
    "Tool": workflows.Tool,
    "Call": workflows.Call,
    "Author": workflows.Author,
    "Message": workflows.Message,
    "Request": workflows.Request,
    "Reply": workflows.Reply,
    "View": workflows.View,
    "ResultOfMove": workflows.ResultOfMove,
    "Consequence": workflows.Consequence,
    "Returned": workflows.Returned,
    "Event_Begun": workflows.Begun,
    "Event_Replied": workflows.Replied,
    "Event_Acted": workflows.Acted,
    "Event_Returned": workflows.ToolsReturned,
    "Credit": workflows.Credit,
    "Directive_Ask": workflows.Ask,
    "Directive_Act": workflows.Act,
    "Directive_Call": workflows.CallTools,
    "Directive_Wait": workflows.Wait,
    "Directive_Finish": workflows.Finish,
    "Step": workflows.Step,
}
_SANDBOX = {
    "Limits": sandbox.Limits,
    "Ending_Exited": sandbox.Exited,
    "Ending_Failed": sandbox.Failed,
    "Ending_Malformed": sandbox.Malformed,
    "Ending_OutOfFuel": sandbox.OutOfFuel,
    "Ending_OutOfTime": sandbox.OutOfTime,
    "Ending_OutOfMemory": sandbox.OutOfMemory,
    "Ending_OutputFlood": sandbox.OutputFlood,
    "Ending_Crashed": sandbox.Crashed,
    "Execution": sandbox.Execution,
    "Problem_UnknownLanguage": sandbox.UnknownLanguage,
    "Problem_Harness": sandbox.Harness,
}


# The names that the contract's exports have in a component: no author's module is called so.
EXPORT_NAME = "troupe_{}"


def serve(module: str, exports: list[str], late: list[str]) -> dict[str, type]:
    """What the component's first module has to define to export what the author's
    module defines. In a component there are no files: what functions import late
    has to be there from the beginning."""
    _install()
    author = importlib.import_module(module)
    for name in late:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    served = {_class_name(export): _EXPORTS[export](author) for export in exports}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        _rehearse(author, exports)
    _connect()
    _settle()
    return served


def _class_name(export: str) -> str:
    return "".join(word.title() for word in EXPORT_NAME.format(export).split("_"))


def _install() -> None:
    """Put the SDK's classes where the contract's are looked for."""
    _replace("wit_world.imports.types", _SHARED)
    _replace("wit_world.imports.sandbox", _SANDBOX)
    _replace("wit_world.imports.retrieval", {"Document": retrieval.Document})
    _replace("wit_world.exports.troupe_environment", _ENVIRONMENT)
    _replace("wit_world.exports.troupe_workflow", _WORKFLOW)
    _replace("wit_world.exports.troupe_rendering", {"Rendering": rendering.Rendering})


def _replace(module: str, classes: Mapping[str, type]) -> None:
    """Do so in a module, if the component has it."""
    with contextlib.suppress(ModuleNotFoundError):
        vars(importlib.import_module(module)).update(classes)


def _connect() -> None:
    """Let the author's calls reach the host, as far as the component imports it."""
    with contextlib.suppress(ImportError):
        from wit_world.imports import log as host_log

        levels = (host_log.Level.DEBUG, host_log.Level.INFO, host_log.Level.WARNING)
        log._write = lambda level, line: host_log.write(levels[level], line)
    with contextlib.suppress(ImportError):
        from wit_world.imports import retrieval as host_retrieval

        retrieval._search = functools.partial(_search, host_retrieval.search)
    with contextlib.suppress(ImportError):
        from wit_world.imports import sandbox as host_sandbox

        sandbox._run = functools.partial(_run, host_sandbox.run)
        sandbox._run_batch = functools.partial(_run_batch, host_sandbox.run_batch)


def _search(search: Callable[..., Any], query: str, limit: int) -> list[retrieval.Document]:
    try:
        return search(query, limit)
    except Err as refused:
        raise ValueError(refused.value) from None


def _run(run: Callable[..., Any], *arguments: Any) -> sandbox.Execution:
    try:
        return run(*arguments)
    except Err as refused:
        raise sandbox.NoExecution(refused.value) from None


def _run_batch(run_batch: Callable[..., Any], *arguments: Any) -> list[Any]:
    results = run_batch(*arguments)
    failed = (Err, sandbox.NoExecution)
    return [failed[1](each.value) if isinstance(each, Err) else each.value for each in results]


def _guarded(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, with every exception as a problem of the contract."""

    @functools.wraps(call)
    def guarded(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except BaseException as error:
            raise Err(Problem.of(error)) from None

    return guarded


def _resource(name: str, cls: type) -> type:
    """A class of the contract's resource, whose calls are guarded."""
    calls = {}
    for call, plain in vars(cls.__mro__[1]).items():
        if isinstance(plain, classmethod):
            calls[call] = classmethod(_guarded(plain.__func__))
        elif callable(plain) and not call.startswith("_"):
            calls[call] = _guarded(plain)
    return type(name, (cls,), calls)


def _environment(author: ModuleType) -> type:
    kind = the_class(author, environments.Environment)
    resource = _resource("Episode", environments.Episode.of(kind))
    _module("environment", Episode=resource)

    class Exported:
        def describe(self) -> environments.Description:
            return kind.description

        @_guarded
        def configure(self, given: list[settings.Configured]) -> environments.Configuration:
            return kind.configure(settings.checked(kind.description.settings, given))

    return Exported


def _rendering(author: ModuleType) -> type:
    kind = the_class(author, environments.Environment)
    if not hasattr(kind, "render"):
        raise TypeError(f"`{kind.__name__}` has no `render`")
    episodes = environments.Episode.of(kind)

    class Exported:
        @_guarded
        def render(self, saved: bytes) -> rendering.Rendering:
            return episodes.resume(saved).environment.render()

    return Exported


def _workflow(author: ModuleType) -> type:
    kind = the_class(author, workflows.Workflow)
    resource = _resource("Session", workflows.Session.of(kind))
    _module("workflow", Session=resource)

    class Exported:
        def describe(self) -> workflows.Description:
            return kind.description

        @_guarded
        def configure(
            self, given: list[settings.Configured], offered: list[types.ActionKind]
        ) -> workflows.Configuration:
            all = settings.checked(kind.description.settings, given)
            return kind.configure(all, offered)

    return Exported


_EXPORTS = {"environment": _environment, "rendering": _rendering, "workflow": _workflow}


def _module(export: str, **contents: type) -> None:
    """A module in which a resource's class is looked for."""
    module = ModuleType(EXPORT_NAME.format(export))
    vars(module).update(contents)
    sys.modules[module.__name__] = module


def _rehearse(author: ModuleType, exports: list[str]) -> None:
    """Play a little, so that what is imported or looked up late is in the
    snapshot, and CPython has made its code fast. What is wrong with the plugin is
    for `host plugin check` to say."""
    rehearsals = {"environment": testing.rehearse_environment, "workflow": testing.rehearse_workflow}
    bases = {"environment": environments.Environment, "workflow": workflows.Workflow}
    for export in rehearsals.keys() & set(exports):
        with contextlib.suppress(Exception):
            rehearsals[export](the_class(author, bases[export]))


def _settle() -> None:
    """What there is now is the snapshot that every instance begins with."""
    # Instances share the pages of it that nobody writes to; the collector would.
    gc.collect()
    gc.freeze()
    # Each instance would be seeded when it is first called, from no entropy at all.
    seed = random.seed
    seed(0)
    random.seed = lambda *given: seed(*given) if given else seed(0)
