# SPDX-License-Identifier: Apache-2.0

"""The base classes of conditions, actions and filters.

Third parties subclass these and register the class under its name in
``ironic.inspection_rules.conditions``, ``ironic.inspection_rules.actions`` or
``ironic.inspection_rules.filters`` (spec 003 "Developer impact"). The names in
``__all__`` are stable; see contributor/plugins in the documentation.
"""

import abc
import dataclasses
import functools
import itertools
import typing

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import path as data_path

__all__ = (
    'NODE',
    'PLUGIN_DATA',
    'PORTS',
    'Action',
    'Condition',
    'Fact',
    'Filter',
    'Relation',
    'Target',
    'Write',
)

NODE = interpolation.NODE
PORTS = interpolation.PORTS
PLUGIN_DATA = interpolation.PLUGIN_DATA

Arguments = typing.Mapping[str, typing.Any]
"""Arguments of an op or a filter by name."""

Schema = dict[str, typing.Any]
"""A JSON schema."""

VERSION = 'version-'  # Prefix of relations between versions: ``version-lt``.
IN_NET = 'in-net'  # The relation of an address to the subnet that it is in.
OPPOSITES = {
    'lt': 'ge',
    'ge': 'lt',
    'gt': 'le',
    'le': 'gt',
    'eq': 'ne',
    'ne': 'eq',
    'one-of': 'none-of',
    'none-of': 'one-of',
}
"""The relations of facts, with the negation of each."""


class Fact(typing.NamedTuple):
    """A statement of a condition about one field.

    :param field: the field as the rule has it: ``{inventory.cpu.count}``.
    :param relation: one of :data:`OPPOSITES`, a comparison of versions, or
        ``in-net``. A comparison means the same as the condition of that name;
        ``one-of`` and ``none-of`` refer to a list of values.
    :param value: the value or field that the field is compared with.
    :param unordered: whether the fact also holds for values that cannot be
        ordered, e.g. null and a number. This is the difference between
        ``! lt`` and ``ge``.
    """

    field: typing.Any
    relation: str
    value: typing.Any
    unordered: bool = False


WRITE_KINDS = ('node', 'port', 'plugin_data', 'capability', 'trait', 'traits')
"""The kinds of places; ``traits`` are all traits that begin with a prefix."""


class Write(typing.NamedTuple):
    """A value that an action leaves at one place.

    :param kind: one of :data:`WRITE_KINDS`.
    :param name: a path for the first three kinds, otherwise a name or the
        prefix.
    :param value: the new value, or :data:`.path.ABSENT` if it is removed.
    :param extends: whether the value is appended to a list.
    :param owner: the MAC address or UUID of the port if the place is in one.
    :param argument: the argument of the action that contains the name.
        Problems of the place point to it.
    """

    kind: str
    name: typing.Any
    value: typing.Any = data_path.ABSENT
    extends: bool = False
    owner: typing.Any = None
    argument: str = 'path'


@dataclasses.dataclass(frozen=True, slots=True)
class GetRequest:
    """A GET request; ``timeout`` and ``backoff_factor`` are seconds."""

    url: str
    headers: dict[str, str] | None = None
    proxies: dict[str, str] | None = None
    timeout: float = 5.0
    retries: int = 3
    backoff_factor: float = 0.3


class Target(typing.Protocol):
    """The data of a machine in a phase, which actions read and write.

    A root is :data:`NODE`, :data:`PORTS` or :data:`PLUGIN_DATA`. A path in a
    port begins with the index of the port. Methods that write raise
    :class:`.exceptions.OperationError` if a path leads through a plain value.
    """

    @property
    def roots(self) -> budget.View:
        """The data by root name, with secrets."""

    @property
    def traits(self) -> list[str]:
        """The names of the node's traits."""

    def get(self, root: str, path: data_path.Path) -> typing.Any:
        """Return the unmasked value at a path, or :data:`.path.ABSENT`."""

    def set(
        self,
        root: str,
        path: data_path.Path,
        value: typing.Any,
        part: data_path.Path = (),
    ) -> None:
        """Set a value, and create missing parents.

        :param part: the path, below the value, of the part that the rule set.
        """

    def confirm(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Record that a value that the rule sets is already there."""

    def extend(
        self,
        root: str,
        path: data_path.Path,
        value: typing.Any,
        unique: bool = False,
    ) -> None:
        """Append to a list, which is created if there is none.

        :param unique: whether to do nothing if the list has an equal item.
        """

    def unset(self, root: str, path: data_path.Path) -> None:
        """Remove the value at a path if there is one."""

    def discard(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Remove the last item that equals the value from a list, if any."""

    def port(self, port_id: str) -> data_path.Path:
        """Find a port by its MAC address (in any case) or UUID.

        :returns: the path of the port below :data:`PORTS`.
        :raises: :class:`.exceptions.OperationError` if there is none.
        """

    def has_port(self, port_id: str) -> bool:
        """Return whether the node has a port with this MAC address or UUID."""

    def set_traits(self, names: typing.Iterable[str]) -> None:
        """Replace the node's traits."""

    def confirm_traits(self, names: typing.Iterable[str]) -> None:
        """Record the traits that a rule sets, but that the node already has.

        A run then names the rule for such a trait too, although the rule did
        not add it.
        """

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""

    def call(self, request: GetRequest) -> None:
        """Send a GET request.

        :raises: :class:`.exceptions.OperationError` if it fails.
        """

    def release(self, value: typing.Any) -> None:
        """Mark a value that was read as shared, so that changes copy it.

        Call this before keeping the value while further rules run.
        """


Problems = typing.Iterator[tuple[str, str]]
"""Pairs of the name of an argument and the message for its problem."""

Facts = typing.Iterator[Fact]
Writes = typing.Iterator[Write]


class Plugin(abc.ABC):
    """Base of conditions, actions and filters."""

    LITERAL: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments that are used as written, without fields."""

    NEEDS_VIEW: typing.ClassVar[bool] = False
    """True if calls begin with the data by root name. A filter must not
    declare both this and ``PAYS``."""

    PAYS: typing.ClassVar[bool] = False
    """True if calls begin with the budget of the phase, after the data by root
    name if these are passed too.

    The caller of a plugin already charges for its arguments and its result.
    Declare this if a single call can build something huge or take long before
    it returns."""

    SCHEMAS: typing.ClassVar[typing.Mapping[str, typing.Sequence[Schema]]] = {}
    """JSON schemas (draft 7) by argument. A value without fields must match
    one of them, and so must each value of a variadic argument. Other arguments
    have the type that they declare. For a filter, the arguments are also
    checked against the schemas when a rule is created."""

    def cases(self) -> typing.Iterator[tuple[str, Schema, Schema]]:
        """Yield the schemas of ``value`` for each kind of ``path``.

        Editors use them to check the value of an action: at ``/maintenance``
        it must be a boolean, and at ``/name`` a text.

        :returns: a pattern for the path, the JSON schema of the argument
            ``value``, and the schema of the argument ``cleanup``.
        """
        yield from ()

    def problems(self, arguments: Arguments) -> Problems:
        """Check the arguments that are known when a rule is created.

        This yields pairs of the name of an argument and the message for its
        problem, e.g. ``('level', 'must be one of info, debug')``.

        :param arguments: the arguments without replacement fields, by name. A
            variadic argument has only its values without fields.
        """
        yield from ()

    def of_node(self, arguments: Arguments) -> typing.Iterator[str]:
        """Yield the names of arguments that need a node.

        These are rejected in the early phase. Replacement fields need not be
        checked here, because they are checked for all ops.

        :param arguments: all arguments as the rule has them, by name.
        """
        yield from ()

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., typing.Any]:
        """Return the function that the engine calls for each machine.

        It is built once, when a rule is compiled. Actions do not use it: the
        engine calls the action itself. A plugin that overrides this
        method may prepare its calls here, e.g. ``in-net`` parses its subnet.

        :param arguments: the arguments without replacement fields, by name. A
            filter is only bound if it has no other arguments.
        :returns: a callable that takes the remaining arguments, like
            ``__call__``.
        """
        if not arguments:
            return self.__call__
        return functools.partial(self.__call__, **arguments)

    @abc.abstractmethod
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Check, apply or run the plugin; see the derived classes."""


class Condition(Plugin):
    """A condition op; its arguments are the parameters of ``__call__``."""

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """True if a missing field counts as None. Otherwise a condition with a
    missing field is false, inverted or not."""

    SEES_MISSING: typing.ClassVar[bool] = False
    """True if a missing field is passed as :data:`.path.ABSENT`."""

    DECIDES_FIRST: typing.ClassVar[bool] = False
    """True if the rule is decided before the first action of any rule.

    ironic-inspector worked like this: it checked the conditions of all rules,
    and then ran the actions of the rules that matched.
    """

    def explain(self, view: budget.View, arguments: Arguments) -> str | None:
        """Return the reason for the result.

        :param view: the data by root name.
        :param arguments: all arguments, rendered with the data.
        :returns: one phrase; None to show the arguments instead.
        """
        return None

    def facts(self, arguments: Arguments, inverted: bool = False) -> Facts:
        """Yield the facts that are true if the condition holds.

        For example, ``lt`` of a field and 8 yields
        ``Fact('{inventory.cpu.count}', 'lt', 8)``.

        :param arguments: all arguments as the rule has them, by name. They
            have been validated.
        :param inverted: whether to yield the facts that are true if the
            condition does not hold.
        """
        yield from ()

    @abc.abstractmethod
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> bool:
        """Return whether the condition holds for these values."""


class Relation(Condition):
    """A condition that compares each of its values with the next value.

    For example, ``lt`` of 1, 2 and 3 holds, because 1 is less than 2, and 2 is
    less than 3.

    It takes any number of values. Nearly all rules pass two values and no
    other arguments. In this case the engine calls only ``holds``.
    """

    @abc.abstractmethod
    def holds(self, left: typing.Any, right: typing.Any) -> bool:
        """Return whether the relation holds between two values.

        For two texts, this must not take longer than comparing them.
        """

    @staticmethod
    def pairs(
        values: typing.Sequence[typing.Any],
    ) -> typing.Iterator[tuple[typing.Any, typing.Any]]:
        """Return pairs of each value and the next one.

        The values 1, 2 and 3 give ``(1, 2)`` and ``(2, 3)``.

        If the only value is a list, its items are the values.
        """
        if len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        return itertools.pairwise(values)

    def __call__(self, *values: typing.Any) -> bool:
        return all(itertools.starmap(self.holds, self.pairs(values)))


class ConditionGroup(Condition):
    """A condition that combines the ``conditions`` of the operation.

    ``__call__`` takes an iterator over their results, in order. A condition
    is not checked if its result is not requested.
    """

    HOLDS: typing.ClassVar[str] = ''
    """How many conditions must hold: ``any``, ``all`` or ``none``; empty for
    anything else."""


class Filter(Plugin):
    """A filter, which computes a new value from a value, e.g. ``upper``.

    Its arguments are the parameters of ``__call__`` after the value.
    """

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """True if a missing field is passed as :data:`.path.ABSENT`."""

    TAKES: typing.ClassVar[frozenset[str]] = frozenset()
    """The types that the filter accepts: ``boolean``, ``number``, ``text``,
    ``list``, ``mapping``; empty for any type."""

    GIVES: typing.ClassVar[str] = ''
    """The type of the result; empty if it depends on the value."""

    TAKES_ITEMS: typing.ClassVar[bool] = False
    """True if the value is passed as a list of its items: the items of a
    list, the keys of a mapping, or the characters of a text."""

    REARRANGES: typing.ClassVar[bool] = False
    """True if a list or mapping that the filter returns contains only items
    of its argument, or mappings of them. Then only their number is charged,
    otherwise everything in them."""

    RETURNS_PARTS: typing.ClassVar[bool] = False
    """True if the filter returns unchanged parts of its value: one of them
    or, if ``GIVES`` is ``list``, a list of them. A secret among them then
    still reads ``******``, unless a filter of items takes text apart, and
    ``lint`` checks the result as it checks the parts."""

    TAKES_FILTER: typing.ClassVar[bool] = False
    """True if the positional arguments are the name of a filter and its
    arguments. The first parameter is then a function that applies it."""

    @abc.abstractmethod
    def __call__(
        self, /, *args: typing.Any, **kwargs: typing.Any
    ) -> typing.Any:
        """Return the new value, without changing the given value.

        :returns: plain JSON data, or :data:`.path.ABSENT` for a missing
            field.
        :raises: :class:`.exceptions.OperationError` if the filter cannot
            accept the value.
        """


class Action(Plugin):
    """An action op, which changes the data of a machine.

    Its arguments are the parameters of ``__call__`` after the target. An
    action that can be undone also has a method ``revert``, which takes the
    target and any of the same arguments. It does nothing if there is nothing
    to undo.
    """

    SUPPORTS_EARLY: typing.ClassVar[bool] = False
    """True if the action may be used in the early phase."""

    TELLS: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments that are messages to people. In these, a missing field
    becomes ``(missing)``, and a secret becomes ``******``. In all other
    arguments of an action, a secret is an error."""

    FAILS: typing.ClassVar[bool] = False
    """True if the action fails the inspection."""

    def writes(self, arguments: Arguments) -> Writes:
        """Yield the values that the action writes, and their places.

        For example, ``set-attribute`` yields ``Write('node', '/extra/rack',
        'r1')``. An action that does not override this is assumed to write
        anywhere.

        :param arguments: all arguments as the rule has them, by name, with the
            items of a literal loop filled in.
        """
        yield from ()

    revert: typing.ClassVar[typing.Callable[..., None] | None] = None

    @abc.abstractmethod
    def __call__(
        self, target: Target, *args: typing.Any, **kwargs: typing.Any
    ) -> None:
        """Run the action on the target.

        :raises: :class:`.exceptions.OperationError` if it fails.
        """
