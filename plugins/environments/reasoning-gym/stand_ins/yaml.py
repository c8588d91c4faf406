"""Configurations in files are never read; only the name is looked up."""


class YAMLError(Exception):
    pass


def safe_load(_: object) -> None:
    raise YAMLError("there are no files here")
