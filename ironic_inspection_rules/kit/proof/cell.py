# SPDX-License-Identifier: Apache-2.0

"""One field of a machine that a solver makes up, of any type it may have.

What a machine sends may be missing, or of any type: nobody checks it before
the rules do. What Ironic keeps, such as an attribute of a node, is of the
type of its column.

A cell stands for one field on all machines. It has an integer of the solver
that says which kind of value the field has, and a term for each kind that
needs one: the solver chooses the kind, and then the text, the number, the
length of the list. What is below a mapping or in a list are cells again, made
when a rule first looks there. So a machine has as many cells as its rules
name fields, and everything else is as in the sample.
"""

from collections.abc import Iterable
import functools
import typing

import z3

from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema

Value = values.Value

LONGEST = 5
"""The number of items of a list that are looked at, the first ones."""

_TEXTS = (*schema.TEXT_KINDS, 'a UUID', 'a MAC address')
_KIND_OF_ATTRIBUTE = {
    **dict.fromkeys(_TEXTS, 'text'),
    'true or false': 'boolean',
    'a mapping': 'mapping',
}
"""What attributes of nodes and ports are to the solver."""

_ANY_KIND = ('boolean', 'number', 'float', 'text', 'mapping', 'list')

PROPERTIES = ('node', 'properties')
"""Where the properties of a node are."""

CAPABILITIES = (*PROPERTIES, '#capabilities')
"""Where the capabilities of a node are, each by its name."""

_CAPABILITY = r'[^\s,]+'
"""The texts that the value of a capability may be.

A node has all of them in one text such as ``boot_mode:uefi,gpu:yes``, which
commas separate.
"""

CAPABILITY_TEXT = (*PROPERTIES, 'capabilities')
"""Where rules find the capabilities as one text, an unknown value."""

TRAITS = ('node', '#traits')
"""Where the traits of a node are, each true where the node has it."""


MAPPINGS = (('inventory',), ('plugin_data',), ('node',), TRAITS, CAPABILITIES)
"""Fields that are a mapping on every machine."""


class Restriction(typing.NamedTuple):
    """A formula that keeps the search among machines that it can decide.

    The search first looks at machines for which all restrictions hold. It
    lifts one that is in the way of a machine.

    :ivar reason: what the restriction leaves out; the reason of an answer
        "unknown" that depends on it.
    :ivar cell: the list, where the restriction is one of the length of a
        list.
    """

    formula: logic.Formula
    reason: str
    cell: 'Cell | None' = None


class Cell:
    """One field on all machines: the solver chooses its kind and its value.

    :ivar steps: the names and indexes that lead to it, from that of a root on.
    :ivar below: where it is a mapping, the fields in it that rules have looked
        at, by name.
    :ivar items: where it is a list, its first :data:`LONGEST` items.
    :ivar empty: where it is a mapping, on which machines it has no entries.
    :ivar kinds: of values that it may have; :attr:`kind` is the index of the
        one that the solver chooses.
    :ivar terms: the term of the solver for a kind of value; of a list, its
        length.
    :ivar uses: of the list that it is, see :class:`.value.ItemList`.
    :ivar secrets: guesses, by the number of their term, that there is a secret
        that no rule names in it, or in the list whose first item it is.
    :param field: what inspection is known to report there, None where the
        name of the field is not known.
    :param is_item: whether it is an item of a list.
    """

    def __init__(
        self,
        machine: typing.Any,
        steps: tuple[str, ...],
        field: inventory_fields.InventoryField | None,
        is_item: bool = False,
    ) -> None:
        self.machine = machine
        self.steps = steps
        # The name is shown to users, and names the terms of the solver.
        self.name = '.'.join(steps)
        if is_item:
            self.name = f'{".".join(steps[:-1])}[{steps[-1]}]'
        self.is_item = is_item
        self._field = field
        self.below: dict[str, Cell] = {}
        self.items: list[Cell] = []
        self.empty = z3.Bool(f'{self.name} is empty')
        # Formulas of where_only() by the names: without any it is empty.
        self._only: dict[frozenset[str], logic.Formula] = {
            frozenset(): self.empty
        }
        self.kinds = _possible_kinds(steps, is_item)
        self.kind = z3.Int(f'kind of {self.name}')
        self.terms: dict[str, logic.Term] = {}
        self.uses: set[str] = set()
        self.secrets: dict[int, logic.Formula] = {}
        if len(self.kinds) > 1:
            # The kind is one of the list, on every machine.
            is_kind = z3.And(self.kind >= 0, self.kind < len(self.kinds))
            machine.domain.append(is_kind)

    @property
    def type(self) -> str | None:
        """The type that inspection is known to report it with."""
        if self._field is None:
            return None
        if self._field.type is None and self._field.names:
            # Fields are known in it, such as the count in ``inventory.cpu``.
            return 'mapping'
        return self._field.type

    @functools.cached_property
    def value(self) -> Value:
        """The value of the field: an alternative for each of its kinds.

        That of ``node.name`` is missing where the formula ``kind == 0`` holds,
        null where ``kind == 1`` does, and a text where ``kind == 2`` does.
        """
        alternatives = []
        for kind in self.kinds:
            guard = self.where_of_kind(kind)
            alternatives.append((guard, self._value_of_kind(kind)))
        return values.join(alternatives)

    def where_of_kind(self, kind: str) -> logic.Formula:
        """Return the formula that holds where the field is of a kind.

        For ``node.name``, whose kinds are ``('absent', 'null', 'text')``, and
        the kind ``text``, it is ``kind of node.name == 2``.
        """
        if len(self.kinds) == 1:
            return logic.TRUE
        return self.kind == self.kinds.index(kind)

    def child(self, name: str) -> Value:
        """Return the value of the field with a name below this field.

        The field is made when a rule first asks for it. For ``count`` of
        ``inventory.cpu`` it is the value of ``inventory.cpu.count``, with an
        alternative for every kind of value that it may have.
        """
        if (*self.steps, name) == CAPABILITY_TEXT:
            # The solver chooses capabilities by name. Their text may have them
            # in any order, so that it is unknown.
            by_name = self.child(CAPABILITIES[-1])
            return values.unknown('capabilities as a text', by_name)
        if name not in self.below:
            below = self.machine.cell((*self.steps, name), self._field)
            self.below[name] = below
            # where_only() was asked before there was this field: where the
            # mapping has only other names, such as "model", "count" is gone.
            for names, has_only in self._only.items():
                if name not in names:
                    is_gone = z3.Implies(has_only, below.where_gone())
                    self.machine.domain.append(is_gone)
        return self.below[name].value

    def where_gone(self) -> logic.Formula:
        """Return the formula that the mapping around it lacks the field.

        For ``inventory.cpu.count`` it is ``kind of inventory.cpu.count == 0``,
        where the kind 0 is ``absent``.
        """
        if self.steps == CAPABILITIES:
            # By name they are always a mapping. But the node has them as a
            # text, which it does not have without any capability.
            return self.empty
        return values.where_absent(self.value)

    def where_only(self, names: Iterable[str]) -> logic.Formula:
        """Return the formula that holds where a mapping has no other names.

        A machine may send entries that no rule names, so whether there are
        others is a truth value that the solver chooses. Formulas that hold for
        all machines tie it to the entries that rules have looked at, and to
        the truth values of other sets of names::

            the mapping has only cpu → disks is missing
            the mapping has only cpu → it has only cpu and disks

        :param names: the entries that do not matter, perhaps missing, such as
            those that a rule has written.
        """
        # The text is another form of the entry "#capabilities", which has
        # to be among the names instead.
        wanted = frozenset(
            name for name in names if (*self.steps, name) != CAPABILITY_TEXT
        )
        if wanted in self._only:
            return self._only[wanted]
        has_only_wanted = z3.Bool(f'{self.name} has only {sorted(wanted)}')
        # Sorted, as a set has no order: the solver may take another way where
        # the fields come in another order.
        for name in sorted(wanted):
            # It makes the entry in "below", if no rule has looked at it yet.
            self.child(name)
        for name, below in self.below.items():
            if name not in wanted:
                is_gone = z3.Implies(has_only_wanted, below.where_gone())
                self.machine.domain.append(is_gone)
        for other_names, has_only_others in self._only.items():
            if other_names < wanted:
                self._relate_choices(
                    less=other_names,
                    has_less=has_only_others,
                    more=wanted,
                    has_more=has_only_wanted,
                )
            elif wanted < other_names:
                self._relate_choices(
                    less=wanted,
                    has_less=has_only_wanted,
                    more=other_names,
                    has_more=has_only_others,
                )
        self._only[wanted] = has_only_wanted
        return has_only_wanted

    def _relate_choices(
        self,
        less: frozenset[str],
        has_less: logic.Formula,
        more: frozenset[str],
        has_more: logic.Formula,
    ) -> None:
        """Make two choices of :meth:`where_only` agree.

        A mapping with only ``cpu`` also has only ``cpu`` and ``disks``. The
        reverse holds where ``disks`` is gone.

        :param less: the fewer names, such as ``cpu``.
        :param has_less: holds where the mapping has no other names.
        :param more: all of ``less`` and more names.
        :param has_more: holds where the mapping has no names but ``more``.
        """
        # The names between the two, such as "disks", are missing.
        others_gone = [
            self.below[name].where_gone() for name in sorted(more - less)
        ]
        self.machine.domain += [
            z3.Implies(has_less, has_more),
            z3.Implies(logic.conj(has_more, *others_gone), has_less),
        ]

    def only_entries(self) -> Iterable[tuple[frozenset[str], logic.Formula]]:
        """List the sets of names that :meth:`where_only` was asked for.

        :returns: pairs of the names, and the truth value of the solver that
            the mapping has no others, such as ``({'count'}, inventory.cpu has
            only ['count'])``.
        """
        return self._only.items()

    def _value_of_kind(self, kind: str) -> Value:
        """Return what a rule reads in the field where it is of a kind.

        Where ``inventory.cpu.count`` is a number, it is an unknown of the
        solver, the integer ``inventory.cpu.count``: so the condition
        ``{inventory.cpu.count} > 8`` becomes the formula
        ``inventory.cpu.count > 8``, and the solver finds a number, such as 32.

        :param kind: one of the kinds that :func:`_possible_kinds` returns,
            such as ``absent`` or ``text``.
        """
        if kind == 'absent':
            return values.NOTHING
        if kind == 'null':
            return values.const(None)
        if kind == 'mapping':
            # The mapping of the machine: no rule has written an entry yet.
            return values.only(values.Mapping(cell=self, entries={}))
        if kind == 'list':
            return values.only(self._build_list())
        # 1, 1.0, true and "1" are four values to rules: so every kind has an
        # unknown of its own.
        if kind == 'boolean':
            term = z3.Bool(self.name)
        elif kind == 'number':
            term = z3.Int(self.name)
        elif kind == 'float':
            term = z3.Real(f'{self.name} as a float')
            # JSON has neither NaN nor infinity.
            self.machine.domain.append(logic.where_within_floats(term))
        else:
            term = self.machine.new_text(self.name)
            if self.steps[:-1] == CAPABILITIES:
                language = self.machine.alphabet.language(_CAPABILITY)
                self.machine.domain.append(z3.InRe(term, language))
        self.terms[kind] = term
        return values.only(values.SolverTerm(term))

    def _build_list(self) -> values.ItemList:
        """Return the field as a list: an unknown length, and its first items.

        ``inventory.disks`` becomes the integer ``length of inventory.disks``,
        and five fields, ``inventory.disks[0]`` to ``inventory.disks[4]``: an
        item is there where the length is larger than its index. Of longer
        lists the other items are not known. So a restriction, the formula that
        the length is at most five, keeps longer lists out until the search
        finds no machine without them.
        """
        length = z3.Int(f'length of {self.name}')
        self.terms['list'] = length
        # To the solver an integer may be negative.
        self.machine.domain.append(length >= 0)
        reason = f'lists of more than {LONGEST} items in {self.name}'
        restriction = Restriction(
            formula=length <= LONGEST, reason=reason, cell=self
        )
        self.machine.restrictions.append(restriction)
        for index in range(LONGEST):
            steps = (*self.steps, str(index))
            item = self.machine.cell(steps, self._field, is_item=True)
            self.items.append(item)
        return values.ItemList(
            length=length,
            items=tuple(self.items),
            name=self.name,
            uses=self.uses,
        )


def _possible_kinds(steps: tuple[str, ...], is_item: bool) -> tuple[str, ...]:
    """Return the kinds of values that a field may have on any machine.

    ``node.name`` is absent, null or text. What a machine sends is of any kind.

    :param is_item: whether the field is an item of a list, and never absent.
    """
    if steps in MAPPINGS:
        return ('mapping',)
    if steps[:-1] == TRAITS:
        # Whether the node has the trait.
        return ('boolean',)
    if steps[:-1] == CAPABILITIES:
        return ('absent', 'text')
    # Ironic has a list of ports for every node, and each port is a record.
    if steps == ('ports',):
        return ('list',)
    if steps[:-1] == ('ports',):
        return ('mapping',)
    attribute = _find_attribute(steps)
    if attribute is not None:
        # Such as "text" for a name: the column of Ironic has a type.
        kind = _KIND_OF_ATTRIBUTE[attribute.kind]
        # An attribute without a default is required, so that no node or port
        # is without it.
        is_required = attribute.default is ...
        # Ironic gives {} for a mapping of a node that is null in its database.
        is_node_mapping = steps[0] == 'node' and kind == 'mapping'
        if is_required or is_node_mapping:
            return (kind,)
        return ('absent', 'null', kind)
    if is_item:
        return ('null', *_ANY_KIND)
    return ('absent', 'null', *_ANY_KIND)


def _find_attribute(steps: tuple[str, ...]) -> schema.Attribute | None:
    """Return the attribute of a node or a port, such as ``node.name``.

    :param steps: the path of a field, such as ``('node', 'name')`` or
        ``('ports', '0', 'address')``.
    :returns: None for any other field, which may be of any type.
    """
    if steps[0] == 'node' and len(steps) == 2:
        return schema.NODE.get(steps[1])
    if steps[0] == 'ports' and len(steps) == 3:
        return schema.PORT.get(steps[2])
    return None
