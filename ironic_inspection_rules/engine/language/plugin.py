# SPDX-License-Identifier: Apache-2.0

"""The base classes of conditions, actions and filters.

Third parties subclass these and register the class under its name in
``ironic.inspection_rules.conditions``, ``ironic.inspection_rules.actions`` or
``ironic.inspection_rules.filters`` (spec 003 "Developer impact"). What is in
``__all__`` lasts; see contributor/plugins of the documentation.
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
Schema = dict[str, typing.Any]

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
"""The relations of facts, each with its negation."""


class Fact(typing.NamedTuple):
    """A statement of a condition about one field.

    :param field: the field as the rule has it: ``{inventory.cpu.count}``.
    :param relation: one of :data:`OPPOSITES`: a comparison as the condition
        of that name makes it, ``one-of`` or ``none-of`` a list of values; or
        a comparison of versions; or ``in-net``.
    :param value: the value or field that it is compared with.
    :param unordered: whether it also holds for values that cannot be ordered
        with that one, such as null and a number: that is how ``! lt`` differs
        from ``ge``.
    """

    field: typing.Any
    relation: str
    value: typing.Any
    unordered: bool = False


WRITE_KINDS = ('node', 'port', 'plugin_data', 'capability', 'trait', 'traits')
"""The kinds of places; ``traits`` are all that begin with a prefix."""


class Write(typing.NamedTuple):
    """A value that an action leaves at one place.

    :param kind: one of :data:`WRITE_KINDS`.
    :param name: a path in the first three, else a name or the prefix.
    :param value: the new value; :data:`.path.ABSENT` if it is removed.
    :param extends: whether the value is appended to a list.
    :param owner: the MAC address or UUID of the port, if the place is in one.
    :param argument: the argument of the action that has the name, to which
        problems of the place point.
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
    """What actions read and write: the data of a machine in a phase.

    A root is :data:`NODE`, :data:`PORTS` or :data:`PLUGIN_DATA`; a path of a
    port begins with its index. Methods that write raise
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
        """Set a value; missing parents are created.

        :param part: the part of it that the rule has set, as a path below it.
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

        :param unique: do nothing if the list has the same item.
        """

    def unset(self, root: str, path: data_path.Path) -> None:
        """Remove the value at a path, if there is one."""

    def discard(
        self, root: str, path: data_path.Path, value: typing.Any
    ) -> None:
        """Remove the last item of a list that is the same, if it has one."""

    def port(self, port_id: str) -> data_path.Path:
        """Find a port by MAC address in any case, or by UUID.

        :returns: the path of the port below :data:`PORTS`.
        :raises: :class:`.exceptions.OperationError` if there is none.
        """

    def has_port(self, port_id: str) -> bool:
        """Return whether the node has a port with this MAC address or UUID."""

    def set_traits(self, names: typing.Iterable[str]) -> None:
        """Replace the node's traits."""

    def confirm_traits(self, names: typing.Iterable[str]) -> None:
        """Record which of these traits a rule sets, but the node has already.

        So a run also names the rule behind a trait that it did not add.
        """

    def log(self, level: str, message: str) -> None:
        """Write a line to the log of the service."""

    def call(self, request: GetRequest) -> None:
        """Send a GET request.

        :raises: :class:`.exceptions.OperationError` if it fails.
        """

    def release(self, value: typing.Any) -> None:
        """Share a value that was read: it is copied before it changes.

        For who keeps the value while rules go on.
        """


Problems = typing.Iterator[tuple[str, str]]
"""Pairs of the name of an argument and what is wrong with it."""

Facts = typing.Iterator[Fact]
Writes = typing.Iterator[Write]


class Plugin(abc.ABC):
    """Base of conditions, actions and filters."""

    LITERAL: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments that are taken as the rule has them, without fields."""

    NEEDS_VIEW: typing.ClassVar[bool] = False
    """True where calls begin with the data by root name. A filter must not
    declare both this and ``PAYS``."""

    PAYS: typing.ClassVar[bool] = False
    """True where calls begin with the budget of the phase, after the data by
    root name if they are passed too.

    What a plugin is given and returns is charged by who calls it. This is for
    one of which a single call can make something huge, or take long, before
    it returns."""

    SCHEMAS: typing.ClassVar[typing.Mapping[str, typing.Sequence[Schema]]] = {}
    """JSON Schemas (draft 7) by argument. A value without fields meets one of
    them; so does each value of a variadic argument. Arguments that are not
    listed are of the type they declare. Those of a filter are also checked
    with them when a rule is made."""

    def cases(self) -> typing.Iterator[tuple[str, Schema, Schema]]:
        """Yield the schemas of ``value`` for each kind of ``path``.

        Editors check the value of an action with them: at ``/maintenance`` it
        must be a boolean, at ``/name`` text.

        :returns: a pattern of the path, then JSON Schemas of the arguments
            ``value`` and ``cleanup``.
        """
        yield from ()

    def problems(self, arguments: Arguments) -> Problems:
        """Check the arguments that are known when a rule is made.

        It yields pairs such as ``('level', 'must be one of info, debug')``:
        the name of an argument, and what is wrong with it.

        :param arguments: those without replacement fields, by name; of a
            variadic argument the values that have none.
        """
        yield from ()

    def of_node(self, arguments: Arguments) -> typing.Iterator[str]:
        """Yield the names of arguments that need a node.

        They are refused in the early phase. Replacement fields are checked
        for all ops alike.

        :param arguments: all arguments as the rule has them, by name.
        """
        yield from ()

    def bind(
        self, arguments: dict[str, typing.Any]
    ) -> typing.Callable[..., typing.Any]:
        """Return the function that is called for machines; not for actions.

        It is built once, when a rule is compiled. A plugin that overrides this
        may prepare its calls here: ``in-net`` reads its subnet.

        :param arguments: the arguments without replacement fields, by name.
            A filter is prepared only if that is all of them.
        :returns: a callable that takes the rest, as ``__call__`` does.
        """
        if not arguments:
            return self.__call__
        return functools.partial(self.__call__, **arguments)

    @abc.abstractmethod
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """Check, apply or carry out; see the derived classes."""


class Condition(Plugin):
    """A condition op; its arguments are the parameters of ``__call__``."""

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """True if a missing field counts as None; otherwise the condition is
    false, inverted or not."""

    SEES_MISSING: typing.ClassVar[bool] = False
    """True if a missing field is passed as :data:`.path.ABSENT`."""

    DECIDES_FIRST: typing.ClassVar[bool] = False
    """True if the rule is decided before the first action of any rule.

    So ironic-inspector did: it checked the conditions of all rules, and then
    ran the actions of those that match.
    """

    def explain(self, view: budget.View, arguments: Arguments) -> str | None:
        """Return the reason for the result.

        :param view: the data by root name.
        :param arguments: all arguments, rendered with the data.
        :returns: one phrase, or None to show the arguments.
        """
        return None

    def facts(self, arguments: Arguments, inverted: bool = False) -> Facts:
        """Yield what is true of fields if the condition holds.

        For ``lt`` of a field and 8 it is ``Fact('{inventory.cpu.count}',
        'lt', 8)``.

        :param arguments: all arguments as the rule has them, by name; they
            are valid.
        :param inverted: yield what is true if it does not hold.
        """
        yield from ()

    @abc.abstractmethod
    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> bool:
        """Return whether the condition holds for these values."""


class Relation(Condition):
    """A condition that holds if a relation holds between neighbours.

    It takes any number of values. Nearly all rules give two, and if nothing
    else is given, the engine only calls ``holds``.
    """

    @abc.abstractmethod
    def holds(self, left: typing.Any, right: typing.Any) -> bool:
        """Return whether the relation holds between two values.

        It takes no longer for two texts than to compare them.
        """

    @staticmethod
    def pairs(
        values: typing.Sequence[typing.Any],
    ) -> typing.Iterator[tuple[typing.Any, typing.Any]]:
        """Return every value with the next one, pair by pair.

        A single list counts as its items.
        """
        if len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        return itertools.pairwise(values)

    def __call__(self, *values: typing.Any) -> bool:
        return all(itertools.starmap(self.holds, self.pairs(values)))


class ConditionGroup(Condition):
    """A condition made of conditions, the ``conditions`` of the operation.

    ``__call__`` takes an iterator of their results, in order; a condition
    whose result it does not ask for is not checked.
    """

    HOLDS: typing.ClassVar[str] = ''
    """How many must hold: ``any``, ``all``, ``none``; empty for anything else.
    """


class Filter(Plugin):
    """A filter, which makes a new value of a value: ``upper``.

    Its arguments are the parameters of ``__call__`` after the value.
    """

    ACCEPTS_MISSING: typing.ClassVar[bool] = False
    """True if a missing field is passed as :data:`.path.ABSENT`."""

    TAKES: typing.ClassVar[frozenset[str]] = frozenset()
    """The types it takes: ``boolean``, ``number``, ``text``, ``list``,
    ``mapping``; empty for any."""

    GIVES: typing.ClassVar[str] = ''
    """The type of what it returns; empty where that depends on the value."""

    TAKES_ITEMS: typing.ClassVar[bool] = False
    """True if the value is passed as a list of its items: those of a list,
    the keys of a mapping, or the characters of text."""

    REARRANGES: typing.ClassVar[bool] = False
    """True if a list or mapping that it returns has no other items than those
    that it was given, or mappings of such. Then only their number is charged,
    else all that is in them."""

    TAKES_FILTER: typing.ClassVar[bool] = False
    """True if positional arguments are the name of a filter and its
    arguments; the first parameter is then a function that applies it."""

    @abc.abstractmethod
    def __call__(
        self, /, *args: typing.Any, **kwargs: typing.Any
    ) -> typing.Any:
        """Return the new value; the given one must not be changed.

        :returns: plain JSON data, or :data:`.path.ABSENT` for a missing
            field.
        :raises: :class:`.exceptions.OperationError` if the filter cannot
            take the value.
        """


class Action(Plugin):
    """An action op, which changes the data of a machine.

    Its arguments are the parameters of ``__call__`` after the target. An
    action that can be undone also has a method ``revert``, which takes the
    target and any of the same arguments; it does nothing if there is nothing
    to undo.
    """

    SUPPORTS_EARLY: typing.ClassVar[bool] = False
    """True if the action may be used in the early phase."""

    TELLS: typing.ClassVar[frozenset[str]] = frozenset()
    """Arguments that are messages for people: a missing field reads
    ``(missing)`` there, and a secret ``******``. In all other arguments of
    an action a secret is an error."""

    FAILS: typing.ClassVar[bool] = False
    """True if the action fails the inspection."""

    def writes(self, arguments: Arguments) -> Writes:
        """Yield what is written, and where.

        For ``set-attribute`` it is ``Write('node', '/extra/rack', 'r1')``. An
        action that does not override this is assumed to write anywhere.

        :param arguments: all arguments as the rule has them, by name, with
            the items of a literal loop filled in.
        """
        yield from ()

    revert: typing.ClassVar[typing.Callable[..., None] | None] = None

    @abc.abstractmethod
    def __call__(
        self, target: Target, *args: typing.Any, **kwargs: typing.Any
    ) -> None:
        """Carry the action out on the target.

        :raises: :class:`.exceptions.OperationError` where it cannot be.
        """
