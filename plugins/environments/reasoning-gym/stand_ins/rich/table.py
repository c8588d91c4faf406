"""See the package."""


class Table:
    pass
