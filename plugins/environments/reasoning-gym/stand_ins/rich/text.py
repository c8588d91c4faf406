"""See the package."""


class Text:
    pass
