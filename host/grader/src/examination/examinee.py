# Answers calls of a program's functions: standard input holds them on one line
# of JSON, and each answer is a line of JSON behind a marker.
import ast
import builtins
import json
import linecache
import sys
from contextlib import contextmanager
from types import ModuleType

MARKER = "@MARKER@"
PROMPT = "@PROMPT@"
ENTRY = "@ENTRY@"
SOURCE = "@SOURCE@"

NAME = "<program>"
SPECIAL = {"list": list, "len": len, "bool": bool, "str": str, "repr": repr}
# Our own interpreter knows errors that it alone raises; of another nothing is known.
KNOWN_ERRORS = sys.modules.get("_troupe_errors")


def parsed(text):
    try:
        return ast.parse(text, NAME)
    except SyntaxError:
        return None


def defines(tree, name):
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in tree.body:
        if isinstance(node, named) and node.name == name:
            return True
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == name for t in node.targets):
            return True
    return False


def texts():
    """What is run: the program, if it is one by itself, behind what the prompt gives; else the
    prompt with the program as its continuation."""
    tree = parsed(SOURCE)
    if not PROMPT:
        return [SOURCE]
    if tree is not None and (defines(tree, ENTRY) or parsed(PROMPT + SOURCE) is None):
        given = [text for text in (PROMPT, PROMPT + "\n    pass\n") if parsed(text) is not None]
        return [*given[:1], SOURCE]
    return [PROMPT + SOURCE]


objects, numbers = [], {}
callbacks = {}
# The program's module, and the answers of functions that the test handed over: those that are
# there, how many were used, and which call has none yet.
state = {"module": None, "replies": [], "used": 0, "needed": None}


class Needed(BaseException):
    """A function of the test has to be called before the program can go on."""


def number_of(value):
    if id(value) not in numbers:
        numbers[id(value)] = len(objects)
        objects.append(value)
    return numbers[id(value)]


def encode(value, path=frozenset()):
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value) if type(value) is not kind else value
    if isinstance(value, (bytes, bytearray)):
        return tagged("bytes", value.decode("latin-1"))
    if isinstance(value, complex):
        return tagged("complex", [value.real, value.imag])
    if isinstance(value, range):
        return tagged("range", [value.start, value.stop, value.step])
    known = callback_number(value)
    if known is not None:
        return tagged("callback", known)
    if id(value) in path or len(path) > 300:
        return tagged("object", [number_of(value), type(value).__name__])
    path = path | {id(value)}
    if isinstance(value, list):
        return [encode(item, path) for item in value]
    if isinstance(value, dict):
        if all(type(key) is str for key in value) and "__troupe__" not in value:
            return {key: encode(item, path) for key, item in value.items()}
        return tagged("dict", [[encode(k, path), encode(v, path)] for k, v in value.items()])
    for kind in (tuple, set, frozenset, deque):
        if isinstance(value, kind):
            return tagged(kind.__name__, [encode(item, path) for item in value])
    return tagged("object", [number_of(value), type(value).__name__])


def object_of(number):
    return objects[number]


def function_of(name):
    return getattr(state["module"], name)


def shared_of(module, name):
    return getattr(importlib.import_module(module), name)


def callback_of(number, name):
    """A function that stays with the test: what it returns is known from an earlier round, or is
    asked for now. Whoever swallows that gains nothing: the answer is what is needed."""
    if number in callbacks:
        return callbacks[number]

    def callback(*args, **kwargs):
        if state["needed"] is None and state["used"] < len(state["replies"]):
            reply = state["replies"][state["used"]][-1]
            state["used"] += 1
            if "raised" in reply:
                raise exception(*reply["raised"])
            return decode(reply["value"])
        if state["needed"] is None:
            state["needed"] = [number, encode(list(args)), encode(kwargs)]
        raise Needed

    callback.__name__ = callback.__qualname__ = name
    callbacks[number] = callback
    return callback


def callback_number(value):
    for number, callback in callbacks.items():
        if callback is value:
            return [number, callback.__name__]
    return None


def exception(names, message):
    for name in names:
        known = getattr(builtins, str(name), None)
        if isinstance(known, type) and issubclass(known, Exception):
            try:
                return known(message)
            except TypeError:
                break
    return Exception(message)


def perform(module, operation, target, *content):
    if operation == "call":
        if not hasattr(module, target):
            raise NameError(f"name {target!r} is not defined")
        return called(getattr(module, target), *content)
    if operation == "name":
        return named(module, target), []
    thing = objects[target]
    if operation == "apply":
        return called(thing, *content)
    if operation == "get":
        return getattr(thing, content[0]), []
    if operation == "set":
        return setattr(thing, content[0], decode(content[1])), []
    if operation == "item":
        return thing[decode(content[0])], []
    return SPECIAL[content[0]](thing), []


class Function:
    """A function or class of the program, by its name."""

    def __init__(self, name):
        self.name = name


def named(module, name):
    if not hasattr(module, name):
        raise NameError(f"name {name!r} is not defined")
    value = getattr(module, name)
    return Function(name) if callable(value) else value


def called(function, args, kwargs):
    given = [decode(arg) for arg in args]
    with unlimited_digits():
        before = [json.dumps(encode(arg)) for arg in given]
    result = function(*given, **decode(kwargs))
    with unlimited_digits():
        changed = [
            [place, after]
            for place, (arg, text) in enumerate(zip(given, before))
            if isinstance(arg, (list, dict, set)) and json.dumps(after := encode(arg)) != text
        ]
    return result, changed


@contextmanager
def unlimited_digits():
    """Lets numbers of any length through; programs meet Python's own limit."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


def is_the_interpreters(error):
    """Whether the error says nothing of the program, which then has to end as any other does."""
    return KNOWN_ERRORS is not None and KNOWN_ERRORS.is_own(error)


def answer(module, request):
    state.update(replies=[], used=0, needed=None)
    if request[0] == "with":
        state["replies"], request = request[1:]
    try:
        result, changed = perform(module, *request)
        value = tagged("function", result.name) if type(result) is Function else encode(result)
        said = {"value": value, "changed": changed}
    except Needed:
        said = {}
    except Exception as error:
        if state["needed"] is None and is_the_interpreters(error):
            raise
        names = [kind.__name__ for kind in type(error).__mro__]
        said = {"raised": [names, str(error)]}
    if state["needed"] is not None:
        said = {"callback": state["needed"]}
    with unlimited_digits():
        return json.dumps(said)


def superseded(request, following):
    """What the test was asked for in a request that is made again with its reply: such a request
    is not carried out, or what it does to the program would be done twice."""
    again = following is not None and following[0] == "with"
    replies, inner = ([], request) if request[0] != "with" else request[1:]
    if again and following[2] == inner and following[1][:-1] == replies:
        return {"callback": following[1][-1][:-1]}
    return None


def main():
    output = sys.stdout
    with unlimited_digits():
        requests = [json.loads(text) for text in json.loads(sys.stdin.readline())]
    module = state["module"] = sys.modules["program"] = ModuleType("program")
    for text in texts():
        linecache.cache[NAME] = (len(text), None, text.splitlines(True), NAME)
        exec(compile(text, NAME, "exec"), module.__dict__)
    for request, following in zip(requests, [*requests[1:], None]):
        known = superseded(request, following)
        with unlimited_digits():
            known = json.dumps(known)
        text = answer(module, request) if known == "null" else known
        output.write("\n" + MARKER + text + "\n")
        output.flush()


main()
