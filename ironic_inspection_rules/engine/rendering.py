# SPDX-License-Identifier: Apache-2.0

"""What a value with replacement fields is, and what it may be without data."""

import abc
import typing

Roots = typing.Mapping[str, typing.Any]


class Missing:
    """A field that does not exist; ``field`` is its text without braces."""

    __slots__ = ('field',)

    def __init__(self, field: str) -> None:
        self.field = field

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Missing) and other.field == self.field

    def __hash__(self) -> int:
        return hash(self.field)

    def __repr__(self) -> str:
        return f'Missing({self.field!r})'


class Template(abc.ABC):
    """A value with replacement fields somewhere in it."""

    __slots__ = ()

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        """What it is made of: templates among other values."""
        return ()

    @abc.abstractmethod
    def render(self, roots: Roots) -> typing.Any:
        """Return the value with the types it has in the data.

        :param roots: the data by root name.
        :returns: the value, or :class:`Missing`.
        """


class OrElse(Template):
    """A value that is another one where a field is missing."""

    __slots__ = ('_other', '_template')

    def __init__(self, value: Template, other: typing.Any) -> None:
        self._template = value
        self._other = other

    @property
    def parts(self) -> typing.Iterable[typing.Any]:
        return (self._template,)

    def render(self, roots: Roots) -> typing.Any:
        value = self._template.render(roots)
        return self._other if isinstance(value, Missing) else value
