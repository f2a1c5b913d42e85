# SPDX-License-Identifier: Apache-2.0

"""One field of a symbolic machine, with all types that it may have.

Data that a machine sends may be missing or have any type, because they are not
checked before the rules run. Data that Ironic stores, e.g. an attribute of a
node, have the type of their column.

A cell represents one field on all machines. It has an integer of the solver
for the kind of value that the field has, and a term for every kind that needs
one. The solver chooses the kind, and then the text, the number, or the length
of the list. The entries of a mapping and the items of a list are cells too,
and are created when a rule first reads them. A machine therefore has only
cells for fields that its rules name; everything else is as in the sample.

The value of a cell is a list of *alternatives*, one for every kind. The
*guard* of an alternative is a formula that holds if the field has this kind::

    kind of inventory.cpu.count == 0 → missing
    kind of inventory.cpu.count == 3 → the integer inventory.cpu.count
    …

The *domain* of a machine is the formulas that hold on all machines, e.g. that
no length of a list is negative.
"""

from collections.abc import Iterable
import functools
import re
import typing

import z3

from ironic_inspection_rules.kit.machine import inventory_fields
from ironic_inspection_rules.kit.proof import logic
from ironic_inspection_rules.kit.proof import value as values
from ironic_inspection_rules.plugins.actions import schema

Value = values.Value

# Every such name is readable, and differs from every name in quotes.
_PLAIN_NAME = re.compile(r'[\w-]+\Z')

LONGEST = 5
"""The number of items at the beginning of a list that have cells."""

_TEXTS = (*schema.TEXT_KINDS, 'a UUID', 'a MAC address')
_KIND_OF_ATTRIBUTE = {
    **dict.fromkeys(_TEXTS, 'text'),
    'true or false': 'boolean',
    'a mapping': 'mapping',
}
"""The kind of an attribute of a node or port for the solver."""

_ANY_KIND = ('boolean', 'number', 'float', 'text', 'mapping', 'list')

PROPERTIES = ('node', 'properties')
"""The place of the properties of a node."""

CAPABILITIES = (*PROPERTIES, values.BY_NAME['capabilities'])
"""The place of the capabilities of a node by name."""

_CAPABILITY = r'[^\s,]+'
"""A pattern for the value of a capability.

A node has all capabilities in one text such as ``boot_mode:uefi,gpu:yes``,
separated by commas.
"""

CAPABILITY_TEXT = (*PROPERTIES, 'capabilities')
"""The place of the capabilities as one text, which is an unknown value."""

TRAITS = ('node', values.BY_NAME['traits'])
"""The place of the traits of a node; an entry is true if it has the trait."""


MAPPINGS = (('inventory',), ('plugin_data',), ('node',), TRAITS, CAPABILITIES)
"""Fields that are a mapping on every machine."""


class Restriction(typing.NamedTuple):
    """A formula that keeps the search among machines that it can decide.

    The search first tries machines for which all restrictions hold. It lifts a
    restriction that keeps it from finding a machine.

    :ivar reason: what the restriction excludes. It is the reason of an answer
        "unknown" that depends on the restriction.
    :ivar cell: the list, if the restriction limits the length of a list.
    """

    formula: logic.Formula
    reason: str
    cell: 'Cell | None' = None


class Cell:
    """One field on all machines: the solver chooses its kind and its value.

    :ivar steps: the names and indexes of its path, beginning with a root.
    :ivar below: if it is a mapping, the entries that rules have read, by name.
    :ivar items: if it is a list, its first :data:`LONGEST` items.
    :ivar empty: if it is a mapping, the formula that it has no entries.
    :ivar kinds: the kinds of values that it may have; :attr:`kind` is the
        index of the kind that the solver chooses.
    :ivar terms: the term of the solver for a kind of value; for a list, its
        length.
    :ivar uses: the uses of the list, see :class:`.value.ItemList`.
    :ivar secrets: guesses that it contains a secret that no rule names, by
        the id of their term. A guess is a truth value that the solver chooses.
        If the field is the first item of a list, the guess is about the whole
        list.
    :param field: the data that inspection is known to report there, None if
        the name of the field is not known.
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
        self.name = _name_of(steps, is_item)
        self.is_item = is_item
        self._field = field
        self.below: dict[str, Cell] = {}
        self.items: list[Cell] = []
        self.empty = z3.Bool(f'{self.name} is empty')
        # Formulas of where_only() by the names. A mapping that has only the
        # names of an empty set is empty.
        self._only: dict[frozenset[str], logic.Formula] = {
            frozenset(): self.empty
        }
        self.kinds = _possible_kinds(steps, is_item)
        self.kind = z3.Int(f'kind of {self.name}')
        self.terms: dict[str, logic.Term] = {}
        self.uses: set[str] = set()
        self.secrets: dict[int, logic.Formula] = {}
        if len(self.kinds) > 1:
            # On every machine, the kind is an index of the list.
            is_kind = z3.And(self.kind >= 0, self.kind < len(self.kinds))
            machine.domain.append(is_kind)

    @property
    def type(self) -> str | None:
        """The type with which inspection is known to report it."""
        if self._field is None:
            return None
        if self._field.type is None and self._field.names:
            # Entries of the field are known, e.g. the count in inventory.cpu.
            return 'mapping'
        return self._field.type

    @functools.cached_property
    def value(self) -> Value:
        """The value of the field, with an alternative for each of its kinds.

        The value of ``node.name`` is missing if the formula ``kind == 0``
        holds, null if ``kind == 1`` holds, and a text if ``kind == 2`` holds.
        """
        alternatives = []
        for kind in self.kinds:
            guard = self.where_of_kind(kind)
            alternatives.append((guard, self._value_of_kind(kind)))
        return values.join(alternatives)

    def where_of_kind(self, kind: str) -> logic.Formula:
        """Return the formula that the field has a kind of value.

        For ``node.name``, whose kinds are ``('absent', 'null', 'text')``, and
        the kind ``text``, it is ``kind of node.name == 2``.
        """
        if len(self.kinds) == 1:
            return logic.TRUE
        return self.kind == self.kinds.index(kind)

    def child(self, name: str) -> Value:
        """Return the value of the field with a name below this field.

        The field is created when a rule first reads it. For ``count`` of
        ``inventory.cpu`` it is the value of ``inventory.cpu.count``, with an
        alternative for every kind of value that it may have.
        """
        if (*self.steps, name) == CAPABILITY_TEXT:
            # The solver chooses capabilities by name. Their text may have them
            # in any order, so it is unknown.
            by_name = self.child(CAPABILITIES[-1])
            return values.unknown('capabilities as a text', by_name)
        if name not in self.below:
            below = self.machine.cell((*self.steps, name), self._field)
            self.below[name] = below
            # where_only() may have been called before this field existed. If
            # the mapping has only other names, the new field is missing.
            for names, has_only in self._only.items():
                if name not in names:
                    is_gone = z3.Implies(has_only, below.where_gone())
                    self.machine.domain.append(is_gone)
        return self.below[name].value

    def where_gone(self) -> logic.Formula:
        """Return the formula that the field is missing in its mapping.

        For ``inventory.cpu.count`` it is ``kind of inventory.cpu.count == 0``,
        where the kind 0 is ``absent``.
        """
        if self.steps == CAPABILITIES:
            # By name, capabilities are always a mapping. But the node has them
            # as a text, which is missing if there are no capabilities.
            return self.empty
        return values.where_absent(self.value)

    def where_only(self, names: Iterable[str]) -> logic.Formula:
        """Return the formula that a mapping has no other names.

        A machine may send entries that no rule names, so whether there are
        others is a truth value that the solver chooses. Formulas that hold for
        all machines connect it to the entries that rules have read, and to the
        truth values of other sets of names::

            the mapping has only cpu → disks is missing
            the mapping has only cpu → it has only cpu and disks

        :param names: the entries that are allowed, even if they are missing,
            e.g. those that a rule has written.
        """
        # Drop the name of the text, which is only another form of the entry
        # with capabilities by name. That entry must be among the names.
        wanted = frozenset(
            name for name in names if (*self.steps, name) != CAPABILITY_TEXT
        )
        if wanted in self._only:
            return self._only[wanted]
        has_only_wanted = z3.Bool(f'{self.name} has only {sorted(wanted)}')
        # Sort the names, because a set has no order, and the solver may take
        # more or fewer steps if the fields are created in another order.
        for name in sorted(wanted):
            # Create the entry in "below" if no rule has read it yet.
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
        reverse holds if ``disks`` is missing.

        :param less: the fewer names, e.g. ``cpu``.
        :param has_less: holds if the mapping has only the names ``less``.
        :param more: all names in ``less`` and more names.
        :param has_more: holds if the mapping has only the names ``more``.
        """
        # Holds if the names between the two, e.g. "disks", are missing.
        others_gone = [
            self.below[name].where_gone() for name in sorted(more - less)
        ]
        self.machine.domain += [
            z3.Implies(has_less, has_more),
            z3.Implies(logic.conj(has_more, *others_gone), has_less),
        ]

    def only_entries(self) -> Iterable[tuple[frozenset[str], logic.Formula]]:
        """List the sets of names for which :meth:`where_only` was called.

        :returns: pairs of the names, and the truth value of the solver that
            the mapping has no other names, e.g. ``({'count'}, inventory.cpu
            has only ['count'])``.
        """
        return self._only.items()

    def _value_of_kind(self, kind: str) -> Value:
        """Return the value that a rule reads if the field has a kind.

        If ``inventory.cpu.count`` is a number, the value is an integer of the
        solver with the name ``inventory.cpu.count``. The condition
        ``{inventory.cpu.count} > 8`` then becomes the formula
        ``inventory.cpu.count > 8``, and the solver finds a number, e.g. 32.

        :param kind: one of the kinds that :func:`_possible_kinds` returns,
            e.g. ``absent`` or ``text``.
        """
        if kind == 'absent':
            return values.NOTHING
        if kind == 'null':
            return values.const(None)
        if kind == 'mapping':
            # The mapping of the machine, without entries written by rules.
            return values.only(values.Mapping(cell=self, entries={}))
        if kind == 'list':
            return values.only(self._build_list())
        # Rules distinguish 1, 1.0, true and "1", so every kind has its own
        # variable.
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
        and five fields, ``inventory.disks[0]`` to ``inventory.disks[4]``. An
        item exists if the length is larger than its index. The later items of
        longer lists are not known. A restriction, the formula that the length
        is at most five, therefore excludes longer lists until the search finds
        no machine without them.
        """
        length = z3.Int(f'length of {self.name}')
        self.terms['list'] = length
        # An integer of the solver may be negative.
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


def _name_of(steps: tuple[str, ...], is_item: bool) -> str:
    """Return the name of a field, e.g. ``inventory.disks[0]``.

    The name is shown to users. The terms of the solver contain it as well, so
    two fields must not have the same name: the entry ``a.b`` of the inventory
    is ``inventory['a.b']``, because ``inventory.a.b`` is the entry ``b`` of
    ``a``. And the solver ends a name at a NUL, which is an escape in quotes.

    :param is_item: whether the last step is the index of a list.
    """
    root, *inner_steps = steps
    name = root
    for number, step in enumerate(inner_steps, 1):
        if is_item and number == len(inner_steps):
            name += f'[{step}]'
        elif isinstance(step, values.ProofName) or _PLAIN_NAME.match(step):
            name += f'.{step}'
        else:
            name += f'[{step!r}]'
    return name


def _possible_kinds(steps: tuple[str, ...], is_item: bool) -> tuple[str, ...]:
    """Return the kinds of values that a field may have on any machine.

    ``node.name`` is absent, null or text. Data that a machine sends may have
    any kind.

    :param is_item: whether the field is an item of a list, which is never
        absent.
    """
    if steps in MAPPINGS:
        return ('mapping',)
    if steps[:-1] == TRAITS:
        # The value says whether the node has the trait.
        return ('boolean',)
    if steps[:-1] == CAPABILITIES:
        return ('absent', 'text')
    # Ironic has a list of ports for every node, and every port is a record.
    if steps == ('ports',):
        return ('list',)
    if steps[:-1] == ('ports',):
        return ('mapping',)
    attribute = _find_attribute(steps)
    if attribute is not None:
        # The column in Ironic has a type, e.g. "text" for a name.
        kind = _KIND_OF_ATTRIBUTE[attribute.kind]
        # An attribute without a default is required, so every node or port has
        # it.
        is_required = attribute.default is ...
        # Ironic returns {} for a mapping of a node that is null in the
        # database.
        is_node_mapping = steps[0] == 'node' and kind == 'mapping'
        if is_required or is_node_mapping:
            return (kind,)
        return ('absent', 'null', kind)
    if is_item:
        return ('null', *_ANY_KIND)
    return ('absent', 'null', *_ANY_KIND)


def _find_attribute(steps: tuple[str, ...]) -> schema.Attribute | None:
    """Return the attribute of a node or a port, e.g. of ``node.name``.

    :param steps: the path of a field, e.g. ``('node', 'name')`` or
        ``('ports', '0', 'address')``.
    :returns: None for any other field, which may have any type.
    """
    if steps[0] == 'node' and len(steps) == 2:
        return schema.NODE.get(steps[1])
    if steps[0] == 'ports' and len(steps) == 3:
        return schema.PORT.get(steps[2])
    return None
