# Calls one function of a program with the arguments on standard input, a JSON
# list on one line, and writes what it returns as a line of JSON after a marker.
import json
import linecache
import sys
from types import ModuleType

MARKER = "@MARKER@"
FUNCTION = "@FUNCTION@"
SOURCE = "@SOURCE@"
# Whether an argument that is an object has its keys turned into integers,
# which JSON cannot express.
INTEGER_KEYS = "@INTEGER_KEYS@"

# The names that LiveCodeBench and verl put before a program, in their order.
STARRED = (
    "string re datetime collections heapq bisect copy math random statistics itertools "
    "functools operator io sys json builtins typing"
).split()


def namespace():
    module = ModuleType("tmp_sol")
    sys.modules["tmp_sol"] = module
    # Our interpreter has them ready: to import so much costs more than most calls.
    ready = sys.modules.get("_troupe_names")
    if ready is not None:
        module.__dict__.update(ready.names)
        return module
    for form in ("from {} import *", "import {}"):
        for name in STARRED:
            try:
                exec(form.format(name), module.__dict__)
            except ImportError:
                pass
    return module


def resolve(module):
    solution = getattr(module, "Solution", None)
    if isinstance(solution, type) and hasattr(solution, FUNCTION):
        return getattr(solution(), FUNCTION)
    if hasattr(module, FUNCTION):
        return getattr(module, FUNCTION)
    raise NameError("the program has no function " + repr(FUNCTION))


def with_integer_keys(arguments):
    if arguments and isinstance(arguments[0], dict):
        try:
            arguments[0] = {int(key): value for key, value in arguments[0].items()}
        except ValueError:
            pass
    return arguments


def encode(value, path):
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, (list, tuple, dict)) or id(value) in path or len(path) > 300:
        return {"__troupe__": ["other", type(value).__name__]}
    path = path | {id(value)}
    if isinstance(value, list):
        return [encode(item, path) for item in value]
    if isinstance(value, tuple):
        return {"__troupe__": ["tuple", [encode(item, path) for item in value]]}
    if all(type(key) is str for key in value) and "__troupe__" not in value:
        return {key: encode(item, path) for key, item in value.items()}
    return {"__troupe__": ["dict", [[encode(k, path), encode(v, path)] for k, v in value.items()]]}


def unlimited_digits():
    if hasattr(sys, "set_int_max_str_digits"):
        before = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(0)
        return before
    return None


def main():
    output = sys.stdout
    digits = unlimited_digits()
    arguments = json.loads(sys.stdin.readline())
    if digits is not None:
        sys.set_int_max_str_digits(digits)
    if INTEGER_KEYS:
        arguments = with_integer_keys(arguments)
    module = namespace()
    sys.setrecursionlimit(50000)
    linecache.cache["<program>"] = (len(SOURCE), None, SOURCE.splitlines(True), "<program>")
    exec(compile(SOURCE, "<program>", "exec"), module.__dict__)
    result = resolve(module)(*arguments)
    unlimited_digits()
    output.write("\n" + MARKER + json.dumps(encode(result, frozenset())) + "\n")
    output.flush()


main()
