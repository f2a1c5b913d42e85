# SPDX-License-Identifier: Apache-2.0

"""Learn rules from the normal machines of groups, for outliers --learn.

A group has the machines of one model, which are peers. A machine is normal if
it does not differ from its peers. A learned rule records how a machine of the
group differs from the normal machines, e.g. that it has 7 disks instead of 8.
"""

from collections.abc import Sequence
import json
import typing

from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.machine.outliers import sketch
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import part_sorts
from ironic_inspection_rules.kit.machine.profile import rules


class Reduced(typing.NamedTuple):
    """The small part of a machine's data that rules are learned from.

    :param keys: the values that all peers have, by path.
    :param text: the data that profiles compare, as JSON; equal machines have
        equal texts.
    """

    keys: dict[str, typing.Any]
    text: str


def reduce(facts: views.Facts, by: Sequence[str]) -> Reduced:
    """Reduce a machine's data to the small part that rules are learned from.

    Worker processes send this part to the process that learns, because it is
    much smaller than an inventory.

    :param facts: the inventory and the plugin data of the machine.
    :param by: the paths of the values that all peers must have; if empty,
        vendor, product and board.
    """
    small = component.reduce(facts)
    text = json.dumps([small.inventory, small.plugin_data], sort_keys=True)
    return Reduced(sketch.peer_values(facts, by), text)


class Norms:
    """The normal machines of all groups of peers, to learn rules from.

    :ivar machines: the names of the normal machines. The caller must read
        these machines again, and add all that still exist.
    """

    def __init__(self, result: peers.Result) -> None:
        # The names of machines with a finding, which are not normal.
        odd = {finding.machine for finding in result.findings}
        self._norms = [GroupNorm(group) for group in result.groups]
        # The norm of the group that a normal machine belongs to, by the name
        # of the machine.
        self._norm_of: dict[str, GroupNorm] = {}
        for norm, group in zip(self._norms, result.groups, strict=True):
            for name in group.machines:
                if name not in odd:
                    self._norm_of[name] = norm
        self.machines = sorted(self._norm_of)

    def add(self, machine: str, reduced: Reduced) -> None:
        """Add a machine to the norm of its group."""
        self._norm_of[machine].add(reduced)

    def rules(self) -> list[dict[str, typing.Any]]:
        """Return rules that record where machines are odd.

        :returns: rules as plain data, group by group.
        """
        rules = []
        for norm in self._norms:
            # A group has no normal machines if all of them are odd.
            if norm.machines:
                rules += norm.rules()
        return rules


class GroupNorm:
    """The normal machines of a group of peers; equal machines are stored once.

    :ivar keys: the values that all peers have, by path. A path has several
        values if some machines do not report their board, or if firmware pads
        a value with different blanks.
    :ivar machines: the data that profiles compare, by their text.
    """

    def __init__(self, group: peers.PeerGroup) -> None:
        self.keys: dict[str, list[typing.Any]] = {}
        self.machines: dict[str, views.Facts] = {}
        self._label = group.label
        # A value between two observed values is normal only if all machines
        # are of one kind.
        self._is_one_kind = len(group.kinds) == 1

    def add(self, reduced: Reduced) -> None:
        """Add a normal machine, unless an equal machine was added before."""
        for path, value in reduced.keys.items():
            values = self.keys.setdefault(path, [])
            if value not in values:
                values.append(value)
        if reduced.text not in self.machines:
            inventory, plugin_data = json.loads(reduced.text)
            facts = views.Facts(inventory, plugin_data)
            self.machines[reduced.text] = facts

    def rules(self) -> list[dict[str, typing.Any]]:
        """Return rules that record how a machine differs from normal ones.

        For example, a rule matches a machine that has the vendor and the model
        of the group, but a different number of CPUs than its normal machines.
        The mode of the rule is ``audit``: the match is recorded, and the
        machine is not changed.
        """
        # If machines have 8 to 16 disks, one with 12 is accepted.
        tolerated = component.Tolerance()
        if not self._is_one_kind:
            # If machines of one kind have 8 disks and machines of another kind
            # have 16, a machine with 12 may be broken. Only 8 and 16 are
            # accepted then.
            tolerated = component.Tolerance(observed=set(component.COMPONENTS))
        conditions_of_group = [
            _group_condition(path, values)
            for path, values in self.keys.items()
        ]
        rules_for_any_machine = rules.write(
            machines=list(self.machines.values()),
            name=self._label,
            on_mismatch=rules.AUDIT,
            tolerated=tolerated,
            # The conditions of the group compare these values already.
            left_out=set(self.keys),
        )
        # The rules must not apply to machines of other groups.
        rules_for_group = []
        for rule in rules_for_any_machine:
            conditions = [*conditions_of_group, *rule['conditions']]
            rules_for_group.append({**rule, 'conditions': conditions})
        return rules_for_group


def _group_condition(
    path: str, values: Sequence[typing.Any]
) -> dict[str, typing.Any]:
    """Build the condition that a machine has one of the values of a group.

    For example, ``{'op': 'one-of', 'args': {'value':
    "{inventory.system_vendor.product_name | default('', true)}", 'values':
    ['PowerEdge R640']}}``.

    :param path: the path of the value that the peers of the group share.
    :param values: the values that the machines of the group have; the empty
        text if a machine does not report the value.
    """
    root, *names = data_path.parse(path)
    if all(map(str.isidentifier, names)):
        field = '.'.join([root, *names])
    else:
        # A name such as "net-1" is valid only in brackets.
        field = root + ''.join(f'[{name}]' for name in names)
    # If a machine does not report the value, its value is the empty text. The
    # empty text is one of the values if some machine of the group does not
    # report it.
    value_or_empty = f"{{{field} | default('', true)}}"
    escaped = [part_sorts.escape(value) for value in values]
    return {
        'op': 'one-of',
        'args': {'value': value_or_empty, 'values': escaped},
    }
