# SPDX-License-Identifier: Apache-2.0

"""The rules of outliers --learn, made of what is normal in groups of peers."""

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

    :param keys: values that peers have in common, by path.
    :param text: the data that profiles compare, as JSON; equal machines have
        equal texts.
    """

    keys: dict[str, typing.Any]
    text: str


def reduce(facts: views.Facts, by: Sequence[str]) -> Reduced:
    """Reduce a machine's data to the small part that rules are learned from.

    Processes send this part to the one that learns: it is much smaller than
    an inventory.

    :param by: paths of the values that peers have in common; if empty vendor,
        product and board.
    """
    small = component.reduce(facts)
    text = json.dumps([small.inventory, small.plugin_data], sort_keys=True)
    return Reduced(sketch.peer_values(facts, by), text)


class Norms:
    """The normal machines of all groups of peers, to learn rules from.

    :ivar machines: the names of the normal machines. Callers read these
        machines again, and add all of them.
    """

    def __init__(self, result: peers.Result) -> None:
        # The names of machines with a finding, which are not normal.
        odd = {finding.machine for finding in result.findings}
        self._norms = [GroupNorm(group) for group in result.groups]
        # The norm of its group, by the name of a normal machine.
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
            # All machines of a group may be odd.
            if norm.machines:
                rules += norm.rules()
        return rules


class GroupNorm:
    """The normal machines of a group of peers; equal machines are kept once.

    :ivar keys: the values that peers have in common, by path. A path has
        several values where a machine does not report its board.
    :ivar machines: the data that profiles compare, by their text.
    """

    def __init__(self, group: peers.PeerGroup) -> None:
        self.keys: dict[str, list[typing.Any]] = {}
        self.machines: dict[str, views.Facts] = {}
        self._label = group.label
        # Only of one kind, a value between two observed ones is normal, too.
        self._is_one_kind = len(group.kinds) == 1

    def add(self, reduced: Reduced) -> None:
        """Add a normal machine, unless an equal machine is there already."""
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

        A rule matches a machine that has the vendor and the model of the
        group, for example, but another number of CPUs than its normal
        machines. Its mode is ``audit``: it is recorded that the rule matches,
        and the machine stays as it is.
        """
        # If machines have 8 to 16 disks, one with 12 is accepted.
        tolerated = component.Tolerance()
        if not self._is_one_kind:
            # Machines of one kind have 8 disks, those of the other 16: one
            # with 12 may be broken, and only 8 and 16 are accepted.
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
            # The conditions of the group compare these.
            left_out=set(self.keys),
        )
        # To a machine of another group, the rules must not apply.
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
    "{inventory.system_vendor.product_name | default('', true)}",
    'values': ['PowerEdge R640']}}``.

    :param path: of the value that the peers of the group have in common.
    """
    root, *names = data_path.parse(path)
    if all(map(str.isidentifier, names)):
        field = '.'.join([root, *names])
    else:
        # A name such as "net-1" is only understood in brackets.
        field = root + ''.join(f'[{name}]' for name in names)
    # A machine that does not report the value has an empty text for it, which
    # is one of the values if some machine of the group does not report it.
    value_or_empty = f"{{{field} | default('', true)}}"
    escaped = [part_sorts.escape(value) for value in values]
    return {
        'op': 'one-of',
        'args': {'value': value_or_empty, 'values': escaped},
    }
