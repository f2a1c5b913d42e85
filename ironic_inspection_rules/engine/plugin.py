# SPDX-License-Identifier: Apache-2.0

"""The base classes of conditions, actions and filters.

Third parties subclass these and register the class under its name in
``ironic.inspection_rules.conditions``, ``ironic.inspection_rules.actions`` or
``ironic.inspection_rules.filters`` (spec 003 "Developer impact"). What is in
``__all__`` lasts; see contributor/plugins of the documentation.
"""

import abc
import functools
import typing

from ironic_inspection_rules.engine import budget
from ironic_inspection_rules.engine import path as data_path

__all__ = ('Action', 'Condition', 'Fact', 'Filter', 'Write')

if typing.TYPE_CHECKING:
    from ironic_inspection_rules.engine import working_copy

Arguments = typing.Mapping[str, typing.Any]
Schema = dict[str, typing.Any]

VERSION = 'version-'  # Prefix of relations between versions: ``version-lt``.
OPPOSITES = {'lt': 'ge', 'ge': 'lt', 'gt': 'le', 'le': 'gt', 'eq': 'ne',
             'ne': 'eq', 'one-of': 'none-of', 'none-of': 'one-of'}
"""The relations of facts, each with the one that holds where it does not."""


class Fact(typing.NamedTuple):
    """A statement of a condition about one field.

    :param field: the field as the rule has it: ``{inventory.cpu.count}``.
    :param relation: one of :data:`OPPOSITES`: a comparison, as the condition
        of that name has it, or ``one-of`` or ``none-of`` a list of values; or
        a comparison of versions.
    :param value: what the field is compared with, or another field.
    :param unordered: whether it is also true of values that have no order
        with that one, as null has none with a number: so does ``! lt`` differ
        from ``ge``.
    """

    field: typing.Any
    relation: str
    value: typing.Any
    unordered: bool = False


class Write(typing.NamedTuple):
    """A value that an action leaves at one place.

    :param kind: ``node``, ``port``, ``plugin_data``, ``capability``,
        ``trait``, or ``traits`` for all that begin with a prefix.
    :param name: a path in the first three, else a name or the prefix.
    :param value: what is there then; :data:`.path.ABSENT` for nothing.
    :param extends: whether the value is appended to the list that is there.
    :param owner: which port, where it is one.
    :param argument: which argument the name is from.
    """

    kind: str
    name: typing.Any
    value: typing.Any = data_path.ABSENT
    extends: bool = False
    owner: typing.Any = None
    argument: str = 'path'


Problems = typing.Iterator[tuple[str, str]]
"""Pairs of the name of an argument and what is wrong with it."""

Facts = typing.Iterator[Fact]
Writes = typing.Iterator[Write]


class Plugin:
    """Base of conditions and actions."""

    LITERAL: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments whose text is never interpolated, such as regexes."""

    NEEDS_VIEW: typing.ClassVar[bool] = False
    """True where calls begin with the data by root name."""

    PAYS: typing.ClassVar[bool] = False
    """True where calls begin with the budget of the phase, behind the data by
    root name if they are given too: what grows with the data is paid for."""

    SCHEMAS: typing.ClassVar[typing.Mapping[str, typing.Sequence[Schema]]] = {}
    """JSON Schemas (draft 7) of arguments, of which a value without fields
    meets one, and each of any number of values; those that are not named are
    of the type they declare."""

    def schemas(self, argument: str) -> typing.Sequence[Schema] | None:
        """Return what is in :data:`SCHEMAS`, or None for the type alone."""
        return self.SCHEMAS.get(argument)

    def cases(self) -> typing.Iterator[tuple[str, Schema, Schema]]:
        """Yield what ``value`` may be by what ``path`` is, for editors.

        :returns: a pattern of the path, then JSON Schemas of the arguments
            ``value`` and ``cleanup``.
        """
        yield from ()

    def problems(self, arguments: Arguments) -> Problems:
        """Check what is known of the arguments when a rule is made.

        :param arguments: the arguments without replacement fields, by name;
            of any number of values those that have none.
        :returns: pairs of argument name and what is wrong with it.
        """
        yield from ()

    def of_node(self, arguments: Arguments) -> typing.Iterator[str]:
        """Yield the names of arguments that mean nothing without a node.

        A rule of the early phase is refused with them. Fields need not be
        looked at: these are checked for all ops alike.

        :param arguments: all arguments as the rule has them, by name.
        """
        yield from ()


class Condition(Plugin, abc.ABC):
    """A condition op; its arguments are the parameters of ``__call__``."""

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """True where a missing field counts as None; else the condition is false,
    inverted or not."""

    SEES_MISSING: typing.ClassVar[bool] = False
    """True where a missing field reaches it, as :data:`.path.ABSENT`."""

    DECIDES_FIRST: typing.ClassVar[bool] = False
    """True where the rule is decided before the first action of any rule."""

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., bool]:
        """Prepare a check when a rule is compiled.

        :param arguments: the arguments without replacement fields, by name.
        :returns: a callable that takes the others, by name, after the
            budget where it pays.
        """
        call = self.__call__
        return functools.partial(call, **arguments) if arguments else call

    def bind_pair(self, arguments: dict[str, typing.Any]
                  ) -> typing.Callable[[typing.Any, typing.Any], bool] | None:
        """Prepare a check of two values, of an op that takes any number.

        :param arguments: as of :meth:`bind`.
        :returns: a callable that takes the two, None where they must be paid.
        """
        return None if self.PAYS else self.bind(arguments)

    def explain(self, view: budget.View, arguments: Arguments) -> str | None:
        """Return the reason of the condition.

        :param view: the data by root name.
        :param arguments: all arguments as they were for this data, by name.
        :returns: one phrase, or None where the arguments say it all.
        """
        return None

    def facts(self, arguments: Arguments, inverted: bool = False) -> Facts:
        """Yield what is true of fields wherever the condition holds.

        :param arguments: all arguments as the rule has them, by name; what
            they may be is checked.
        :param inverted: wherever it does not hold, instead.
        """
        yield from ()

    @abc.abstractmethod
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> bool:
        """Return whether the condition holds for these values."""


class Group(Condition):
    """A condition made of conditions, which a rule has beside its name.

    ``__call__`` takes whether each of them holds, in order; one that it does
    not ask for is not checked.
    """

    HOLDS: typing.ClassVar[str] = ''
    """Number that holds: ``any``, ``all``, ``none``; empty if it depends."""


class Filter(abc.ABC):
    """A filter.

    Its arguments are the parameters of ``__call__`` after the value.
    """

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """True where a field that does not exist reaches the filter, as
    :data:`.path.ABSENT`."""

    LITERAL: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments that are written out in the rule, such as regexes."""

    TAKES: typing.ClassVar[frozenset[str]] = frozenset()
    """Of which types a value is: ``boolean``, ``number``, ``text``, ``list``,
    ``mapping``; empty for any."""

    NEEDS_VIEW: typing.ClassVar[bool] = False

    PAYS: typing.ClassVar[bool] = False
    """True where calls begin with the budget of the phase."""

    TAKES_FILTER: typing.ClassVar[bool] = False
    """True where arguments by place are the name of a filter and its
    arguments; the first parameter then is a function that applies it."""

    def problems(self, arguments: Arguments) -> Problems:
        """Check what is known of the arguments when a rule is made.

        :param arguments: the arguments that are no paths, by name.
        :returns: pairs of argument name and what is wrong with it.
        """
        yield from ()

    def bind(self, arguments: dict[str, typing.Any]
             ) -> typing.Callable[..., typing.Any]:
        """Prepare the filter when a rule is compiled, if it has no paths.

        :param arguments: all arguments of the filter, by name.
        :returns: a callable that takes the value, after the budget where
            the filter pays.
        """
        call = self.__call__
        return functools.partial(call, **arguments) if arguments else call

    @abc.abstractmethod
    def __call__(self, /, *args: typing.Any, **kwargs: typing.Any
                 ) -> typing.Any:
        """Return what becomes of the value, which stays as it is.

        :returns: plain JSON data, or :data:`.path.ABSENT` for a field that
            does not exist.
        :raises: :class:`.exceptions.OperationError` where the filter cannot
            take the value.
        """


class Action(Plugin, abc.ABC):
    """An action op.

    Its arguments are the parameters of ``__call__`` after the target. An
    action that can be undone also has a method ``revert``, which takes the
    target and any of the same arguments; it does nothing where there is
    nothing to undo.
    """

    SUPPORTS_EARLY: typing.ClassVar[bool] = False
    """True where the action may be used in the early phase."""

    TELLS: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments that are told to people: a missing field reads ``(missing)``
    there, and a secret ``******``. A secret in any argument of other actions
    is an error."""

    FAILS: typing.ClassVar[bool] = False
    """True where the inspection ends with it, as a failure."""

    def writes(self, arguments: Arguments) -> Writes:
        """Yield what is written, and where.

        Where this is not overridden, a sensitive rule may have written
        anywhere.

        :param arguments: all arguments as the rule has them, by name, with
            the item of a loop filled in where the rule has it.
        """
        yield from ()

    revert: typing.ClassVar[typing.Callable[..., None] | None] = None

    @abc.abstractmethod
    def __call__(self, target: 'working_copy.WorkingCopy', *args: typing.Any,
                 **kwargs: typing.Any) -> None:
        """Carry the action out on the target.

        :raises: :class:`.exceptions.OperationError` where it cannot be.
        """
