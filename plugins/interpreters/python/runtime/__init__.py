"""What turns CPython in a component into an ordinary Python for a program."""
