# SPDX-License-Identifier: Apache-2.0

"""The report of a fleet: what rules would do to every machine of a cloud."""

import typing

from ironic_inspection_rules.kit.report.pages import shell
from ironic_inspection_rules.kit.trial.fleet import summary

_ASSETS = ('fleet.css', 'fleet_model.js', 'fleet_tables.js',
           'fleet_capacity.js', 'fleet_choices.js', 'fleet_matters.js',
           'fleet_pictures.js', 'fleet_map.js', 'fleet.js')
_NOTHING = -1

Plain = typing.Mapping[str, typing.Any]


def render(fleet: Plain) -> str:
    """Return the report.

    :param fleet: ``title``; ``made``, a time; ``compared``, whether
        ``changes`` are differences from the rules in force; ``filters``;
        ``rules`` with ``uuid``, ``description``, ``phase``, ``priority``
        and ``mode``; ``nodes`` as ``POST /v1/inspection_rules/evaluate``
        answers, with ``traits`` and ``resource_class`` as they are now;
        ``capacity`` where flavors were given.
    """
    return shell.render(str(fleet['title']), _ASSETS, _Packed(fleet).data)


class _Packed:
    """The data of a fleet with everything that is equal only once."""

    def __init__(self, fleet: Plain) -> None:
        self._compared = bool(fleet.get('compared'))
        self._texts = shell.Numbers()
        self._changes = shell.Numbers()
        self._outcomes = shell.Numbers()
        self._matches = shell.Numbers()
        self._traits = shell.Numbers()
        self._rules = shell.Numbers()
        self._names = {rule['uuid']: rule.get('description')
                       for rule in fleet['rules']}
        for rule in fleet['rules']:
            self._rules.of(rule['uuid'])
        nodes = [self._node(node) for node in fleet['nodes']]
        places = {node['uuid']: place
                  for place, node in enumerate(fleet['nodes'])}
        capacity = [{
            **{name: each[name] for name in (
                'name', 'problem', 'before', 'after', 'loss')},
            'gained': len(each['gained']),
            'lost': [(places[node['uuid']],
                      tuple(map(self._rules.of, node['rules'])))
                     for node in each['lost']]}
            for each in fleet.get('capacity') or ()]
        known = [dict(rule) for rule in fleet['rules']]
        others = [{'uuid': uuid} for uuid in self._rules.all[len(known):]]
        self.data = {
            **{name: fleet.get(name)
               for name in ('title', 'made', 'compared', 'filters')},
            'rules': known + others,
            'nodes': nodes,
            'capacity': capacity,
            'changes': self._changes.all,
            'outcomes': self._outcomes.all,
            'matches': self._matches.all,
            'traits': self._traits.all,
            'texts': self._texts.all,
        }

    def _node(self, node: Plain) -> tuple[typing.Any, ...]:
        """Return what the script calls a node, in the order it has there.

        Its result is ``ok``, ``failed``, ``error`` of a rule apart from
        ``fail``, or ``untried`` where nothing is known of the machine.
        """
        in_force = node.get('in_force') or {}
        result = str(node['result'])
        if result == 'error':
            result = 'untried'
        elif (node.get('failed_by') or {}).get('kind') == 'error':
            result = 'error'
        changes = []
        for change in node.get('changes') or ():
            value, before = (
                _NOTHING if change['op'] == nothing or name not in change
                else self._texts.of(shell.dumps(change[name], sort_keys=True))
                for name, nothing in (('value', 'remove'), ('before', 'add')))
            changes.append(self._changes.of((
                *(self._texts.of(change[name])
                  for name in ('object', 'op', 'path')), value, before)))
        return (
            node['uuid'] or '', node.get('name'), result,
            self._message(node.get('error')),
            self._rule_set(node.get('matched') or ()),
            self._rule_set([each['uuid'] for each in node.get('audit') or ()
                            if each.get('matched', True)]),
            self._outcomes.of(tuple(changes)),
            int(bool(node.get('differs', changes))),
            int(summary.loses_its_instance(node, self._compared)),
            in_force.get('result'), self._message(in_force.get('error')),
            self._traits.of(tuple(sorted(
                map(self._texts.of, node.get('traits') or ())))),
            self._text(node.get('resource_class')))

    def _rule_set(self, uuids: typing.Iterable[str]) -> int:
        return self._matches.of(tuple(sorted(map(self._rules.of, uuids))))

    def _message(self, text: str | None) -> int:
        if text is not None:
            text = shell.named(text, self._names)
        return self._text(text)

    def _text(self, text: str | None) -> int:
        return _NOTHING if text is None else self._texts.of(text)
