# Runs a checker as if it had been called with the names of three files: the
# input, the contestant's output and the answer, which come on standard input.
import os
import sys

SOURCE = "@SOURCE@"
FOLDER = "/tmp"


def prepare():
    stream = sys.stdin.buffer
    names = []
    os.makedirs(FOLDER, exist_ok=True)
    lengths = [int(word) for word in stream.readline().split()]
    for name, length in zip(("input", "output", "answer"), lengths):
        names.append(FOLDER + "/" + name + ".txt")
        with open(names[-1], "wb") as file:
            file.write(stream.read(length))
    sys.argv = ["checker"] + names


class CheckerIsNoProgram(Exception):
    pass


def compiled():
    try:
        return compile(SOURCE, "<checker>", "exec")
    except (SyntaxError, ValueError) as error:
        raise CheckerIsNoProgram(str(error)) from None


CHECKER = compiled()
prepare()
exec(CHECKER, {"__name__": "__main__", "__builtins__": __builtins__})
