# Runs test code that calls functions of a program which is not here. Standard
# input holds, on one line of JSON, whether to guess ahead and the calls that
# were answered so far with their answers. The last line behind the marker says
# how the test ended, or which calls have to be answered before it can go on.
import ast
import builtins
import json
import linecache
import sys
import traceback
from contextlib import contextmanager

MARKER = "@MARKER@"
PROMPT = "@PROMPT@"
TEST = "@TEST@"
ENTRY = "@ENTRY@"

MOST_GUESSES = 1000
# What no answer of a program causes. A `SyntaxError` is none of it: tests read answers as literals.
FAULTS = (ImportError,)
NAME = "<test>"


class Stopped(BaseException):
    """The test cannot go on for now."""


class Hopeless(BaseException):
    """The test cannot be carried out at all."""


class Gone(BaseException):
    """The program did not come back from a call."""


class Forged(BaseException):
    """The program wrote what is no answer of any call."""


class Guess:
    """Stands for an answer that is not there yet. Tests mostly compare answers and go on, so the
    calls that follow can be asked for together. What is guessed decides nothing."""

    def _yes(self, *_):
        return True

    def _itself(self, *_, **__):
        return self

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = _yes
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _itself
    __rtruediv__ = __floordiv__ = __mod__ = __pow__ = __neg__ = __abs__ = __round__ = _itself
    __getitem__ = __call__ = _itself

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __hash__(self):
        return 0

    def __float__(self):
        return 0.0

    def __int__(self):
        return 0

    def __len__(self):
        return 0

    def __iter__(self):
        return iter(())


class Remote:
    """An object that stays with the program. It is equal to itself and to nothing else."""

    def __init__(self, number, kind):
        self.__dict__["_number"], self.__dict__["_kind"] = number, kind

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return ask("get", self._number, name)

    def __setattr__(self, name, value):
        ask("set", self._number, name, encode(value))

    def __call__(self, *args, **kwargs):
        return ask("apply", self._number, args, kwargs)

    def __iter__(self):
        return iter(ask("special", self._number, "list"))

    def __len__(self):
        return ask("special", self._number, "len")

    def __bool__(self):
        return ask("special", self._number, "bool")

    def __str__(self):
        return ask("special", self._number, "str")

    def __repr__(self):
        return ask("special", self._number, "repr")

    def __getitem__(self, key):
        return ask("item", self._number, encode(key))

    def __eq__(self, other):
        return isinstance(other, Remote) and other._number == self._number

    def __hash__(self):
        return self._number


def encode(value):
    kind = type(value)
    if value is None or kind in (bool, int, str, float):
        return value
    if kind is list:
        return [encode(item) for item in value]
    if kind is dict and all(type(key) is str for key in value) and "__troupe__" not in value:
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, dict):
        return tagged("dict", [[encode(k), encode(v)] for k, v in value.items()])
    for known in (tuple, set, frozenset, deque):
        if isinstance(value, known):
            return tagged(known.__name__, [encode(item) for item in value])
    if isinstance(value, (bytes, bytearray)):
        return tagged("bytes", value.decode("latin-1"))
    if isinstance(value, complex):
        return tagged("complex", [value.real, value.imag])
    if isinstance(value, range):
        return tagged("range", [value.start, value.stop, value.step])
    if isinstance(value, Remote):
        return tagged("object", value._number)
    for known in (int, str, float, list):
        if isinstance(value, known):
            return encode(known(value))
    if isinstance(value, Guess):
        raise Stopped
    if callable(value):
        return handed_over(value)
    raise Hopeless(f"a {kind.__name__} cannot be given to a program")


def handed_over(function):
    """A function that goes to the program: one of its own, one that both sides have, or one that
    the program has called here."""
    name = getattr(function, "_of_program", None)
    if isinstance(name, str):
        return tagged("function", name)
    known = shared(function)
    if known is not None:
        return known
    for number, callback in enumerate(callbacks):
        if callback is function:
            break
    else:
        number = len(callbacks)
        callbacks.append(function)
    return tagged("callback", [number, str(getattr(function, "__name__", "function"))])


@contextmanager
def written_by_the_program():
    """What it wrote is read here and nowhere else. Whatever that ends with is the program's
    failure: neither the test's, nor an exception that the test may be waiting for."""
    try:
        yield
    except Exception as error:
        raise Forged(f"{type(error).__name__}: {error}") from None


def object_of(content):
    number, kind = content
    if type(number) is not int:
        raise Forged("an object without a number")
    return Remote(number, kind)


def callback_of(number, _):
    if type(number) is not int or not 0 <= number < len(callbacks):
        raise Forged("a function that the test did not hand over")
    return callbacks[number]


def shared_of(*_):
    raise Forged("something of a module, which no answer holds")


def call_back(called):
    """What a function of the test returns to the program, which may ask for anything."""
    with written_by_the_program():
        number, args, kwargs = called
        function, args, kwargs = callback_of(number, None), decode(args), decode(kwargs)
    try:
        reply = {"value": encode(function(*args, **kwargs))}
    except Exception as error:
        names = [kind.__name__ for kind in type(error).__mro__]
        reply = {"raised": [names, str(error)]}
    return reply


callbacks = []


state = {
    "guessing": False,
    "answered": [],
    "at": 0,
    "wanted": [],
    "last": None,
    "values": set(),
    # Exceptions of the program: a test may keep one, and raise it later.
    "raised": [],
}


def ask(operation, *content):
    given = content
    if operation in ("call", "apply"):
        target, args, kwargs = content
        content = (target, [encode(arg) for arg in args], encode(kwargs))
    request, replies = [operation, *content], []
    reply = heard(json.dumps(request))
    while isinstance(reply, dict) and "callback" in reply:
        returned = call_back(reply["callback"])
        replies.append([*reply["callback"], returned])
        reply = heard(json.dumps(["with", replies, request]))
    return reply if isinstance(reply, Guess) else taken(reply, given)


def heard(text):
    """The program's reply, or a guess."""
    answered, wanted = state["answered"], state["wanted"]
    if wanted or state["at"] == len(answered) or answered[state["at"]][0] != text:
        wanted.append(text)
        if not state["guessing"] or len(wanted) == MOST_GUESSES:
            raise Stopped
        return Guess()
    state["at"] += 1
    return answered[state["at"] - 1][1]


def taken(reply, given):
    """The value of a reply to a call with these arguments."""
    with written_by_the_program():
        if "gone" in reply:
            raise Gone
        for place, value in reply.get("changed", ()):
            change(given[1][place], decode(value))
        error = exception(*reply["raised"]) if "raised" in reply else None
        value = decode(reply["value"]) if error is None else None
    if error is not None:
        raise error
    state["last"] = value
    return value


def change(argument, value):
    """What the program did to an argument of its own is done here."""
    if isinstance(argument, list):
        argument[:] = value
    elif isinstance(argument, (dict, set)):
        argument.clear()
        argument.update(value)


def exception(names, message):
    """An exception that the same clauses catch."""
    for name in names:
        known = getattr(builtins, str(name), None)
        if isinstance(known, type) and issubclass(known, Exception):
            break
    else:
        known = Exception
    kind = type(str(names[0]), (known,), {}) if known.__name__ != names[0] else known
    try:
        error = kind(message)
    except TypeError:
        error = Exception(message)
    state["raised"].append(error)
    return error


class Names(dict):
    """The test's names. A function that nobody defines is the program's."""

    def __missing__(self, name):
        if name.startswith("__") or hasattr(builtins, name):
            raise KeyError(name)
        # What is only called is a function, and asking for it would take a round.
        return ask("name", name) if name in state["values"] else function(name)


def function(name):
    def candidate(*args, **kwargs):
        return ask("call", name, args, kwargs)

    candidate.__name__ = name
    candidate._of_program = name
    return candidate


def function_of(name):
    return function(name)


def helpers(names):
    """The functions that the problem itself gives beside the one that is asked for."""
    for text in (PROMPT, PROMPT + "\n    pass\n"):
        try:
            code = compile(text, "<prompt>", "exec")
        except SyntaxError:
            continue
        exec(code, names)
        return


class Lenient(ast.NodeTransformer):
    """An assertion that fails while answers are guessed means nothing."""

    def visit_Assert(self, node):
        ahead = ast.Call(ast.Name("__ahead__", ast.Load()), [], [])
        node.test = ast.BoolOp(ast.Or(), [node.test, ahead])
        return node


def values(tree):
    """The names that are not only called: each may be a value of the program."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return {name.id for name in names if isinstance(name.ctx, ast.Load) and id(name) not in called}


def compiled():
    tree = ast.parse(TEST, NAME)
    state["values"] = values(tree)
    tree = Lenient().visit(tree)
    return compile(ast.fix_missing_locations(tree), NAME, "exec")


def carry_out():
    try:
        code = compiled()
    except (SyntaxError, ValueError) as error:
        return {"void": f"the test code is no program: {error}"}
    sys.modules.update(numpy_modules())
    names = Names(__name__="test", __ahead__=lambda: bool(state["wanted"]))
    linecache.cache[NAME] = (len(TEST), None, TEST.splitlines(True), NAME)
    try:
        helpers(names)
        if ENTRY:
            names[ENTRY] = function(ENTRY)
        exec(code, names)
    except Hopeless as error:
        end = {"void": str(error)}
    except Gone:
        end = {"gone": True}
    except Forged as error:
        end = {"failed": f"what the program answered is no answer: {error}"}
    except BaseException as error:
        end = unhappy(error)
    else:
        end = {"passed": state["at"]}
    if state["wanted"]:
        return {"ask": state["wanted"], "keep": state["at"]}
    return end


def unhappy(error):
    said = in_words(error)
    if any(error is one for one in state["raised"]):
        return {"raised": said}
    if isinstance(error, SystemExit):
        return exited(error.code)
    if isinstance(error, FAULTS) or (state["at"] == 0 and not state["wanted"]):
        return {"void": f"the test code failed by itself: {said}"}
    lines = [frame.line for frame in traceback.extract_tb(error.__traceback__) if frame.filename == NAME]
    where = lines[-1] if lines else "the test code"
    if isinstance(error, AssertionError):
        return {"failed": f"{where}; the last call returned {short(state['last'])}"}
    return {"failed": f"{where}: {said}"}


def exited(code):
    """Test code that ends by itself, as unittest's does, says by its code how."""
    if code in (None, 0, False):
        return {"passed": state["at"]}
    if code in (1, True):
        return {"failed": f"the test code ended with exit code 1; the last call returned {short(state['last'])}"}
    return {"void": f"the test code ended with exit code {code}"}


def in_words(error):
    """The error's name and message, which may hold objects of the program: these are asked."""
    try:
        return f"{type(error).__name__}: {error}".strip(": ")
    except BaseException:
        return type(error).__name__


def short(value):
    try:
        text = ascii(value)
    except BaseException:
        text = type(value).__name__
    return text if len(text) < 60 else text[:60] + "..."


def main():
    output = sys.stdout
    sys.set_int_max_str_digits(0)
    state["guessing"], state["answered"] = json.loads(sys.stdin.readline())
    end = carry_out()
    output.write("\n" + MARKER + json.dumps(end) + "\n")
    output.flush()


main()
