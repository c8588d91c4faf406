"""See the package."""


class Panel:
    pass
