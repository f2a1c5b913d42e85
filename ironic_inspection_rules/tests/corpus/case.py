# SPDX-License-Identifier: Apache-2.0

"""Cases of the rule language: the conformance suite, kept as YAML.

Each file lists sentences of the language's definition, each with the cases
that hold it up. A case says what is given, and what is expected:

========================  ===================================================
``condition``, ``action``  a rule with only that
``conditions``,            a rule
``actions``, ``rule``
``rules``                  several rules, in the order they run in
``node``, ``inventory``    laid over those of ``machine.yaml``, key by key
``plugin_data``,           in the place of those of ``machine.yaml``
``ports``, ``port_groups``,
``previous``
``tables``                 the tables of the rule set
``scope``                  the inspection scope of the node
``mask_secrets``           the option, ``always`` unless given
``holds``                  whether the condition holds; its opposite does not.
                           ``never``: neither does
``matched``                which rules match, by their place
``changes``                all changes, in order
``after``                  what the data is in the end, by JSON pointer
``gone``                   JSON pointers to what does not exist in the end
``notes``                  lines logged and requests sent
``error``                  pieces of text in the error
``fails``                  the same, where a rule lets inspection fail
``maintenance``            whether such a rule asks for maintenance
``hidden``                 texts that nothing shows: no change, note, error,
                           explanation
``trace``                  what is kept with the inventory
``reasons``                pieces of text in the reasons of the conditions
``problems``               what is wrong with the rule: pieces of text by the
                           JSON pointer to it
========================  ===================================================
"""

import copy
import dataclasses
import functools
import pathlib
import typing
import uuid

import yaml

from ironic_inspection_rules.engine.language import budget
from ironic_inspection_rules.engine.language import compiler
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.engine.run import runner
from ironic_inspection_rules.engine.run import working_copy

Json = dict[str, typing.Any]

_HERE = pathlib.Path(__file__).parent
_MACHINE = 'machine.yaml'
_NOTHING = {'op': 'set-plugin-data', 'args': ['/matched', True]}
_KEYS = {
    'name',
    'condition',
    'action',
    'conditions',
    'actions',
    'rule',
    'rules',
    'node',
    'inventory',
    'plugin_data',
    'ports',
    'port_groups',
    'previous',
    'scope',
    'tables',
    'mask_secrets',
    'holds',
    'matched',
    'changes',
    'after',
    'gone',
    'notes',
    'error',
    'fails',
    'maintenance',
    'hidden',
    'trace',
    'reasons',
    'problems',
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One case; ``file`` and ``sentence`` are where it stands."""

    file: str
    sentence: str
    content: Json

    @property
    def name(self) -> str:
        """The name, which no other case of the file has."""
        return typing.cast(str, self.content['name'])

    def get(self, key: str, default: typing.Any = None) -> typing.Any:
        """Return what the case says of something."""
        return self.content.get(key, default)

    @property
    def rules(self) -> list[Json]:
        """The rules, in the order they run in."""
        if 'rules' in self.content:
            return [
                _complete(rule, index)
                for index, rule in enumerate(self.content['rules'])
            ]
        rule = dict(self.get('rule', {}))
        for name in ('conditions', 'actions'):
            if name in self.content:
                rule[name] = self.content[name]
            elif name[:-1] in self.content:
                rule[name] = [self.content[name[:-1]]]
        return [_complete(rule, 0)]

    @property
    def operations(self) -> list[Json]:
        """All conditions and actions of all rules."""
        return [
            operation
            for rule in self.rules
            for name in ('conditions', 'actions')
            for operation in rule.get(name) or ()
        ]

    def facts(self) -> working_copy.Facts:
        """Return the machine the rules meet."""
        machine = copy.deepcopy(_read(_MACHINE))
        for name in ('node', 'inventory'):
            machine[name].update(self.get(name, {}))
        for name in ('plugin_data', 'ports', 'port_groups'):
            machine[name] = self.get(name, machine[name])
        if self.rules[0].get('phase') == model.EARLY:
            machine['node'] = None
        return working_copy.Facts(
            inventory=machine['inventory'],
            plugin_data=machine['plugin_data'],
            node=machine['node'],
            ports=tuple(machine['ports']),
            port_groups=tuple(machine['port_groups']),
            previous=self.get('previous'),
        )


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of running the rules of a case."""

    outcome: runner.PhaseOutcome
    target: working_copy.WorkingCopy
    uuids: list[str]

    @property
    def matched(self) -> list[bool]:
        """Whether each rule matched, in the order they run in."""
        matched = {
            trace.rule.uuid for trace in self.outcome.traces if trace.matched
        }
        return [uuid in matched for uuid in self.uuids]

    @property
    def changes(self) -> list[Json]:
        """All changes; those without a value leave it out."""
        return [
            {
                key: value
                for key, value in change.as_dict().items()
                if key != 'value' or change.op != 'remove'
            }
            for change in self.target.journal.changes
        ]

    def at(self, pointer: str) -> typing.Any:
        """Return what is at a JSON pointer in the end, or ``ABSENT``."""
        return data_path.get(self.target.roots, data_path.parse(pointer))

    def shown(self) -> str:
        """Return everything that anyone may see of the run, as text."""
        return repr(
            [
                self.changes,
                self.target.journal.notes,
                self.outcome.error,
                str(self.outcome.error),
                [trace.as_dict() for trace in self.outcome.traces],
                [trace.summary() for trace in self.outcome.traces],
            ]
        )


def load() -> list[Case]:
    """Read all cases of all files.

    :raises: ValueError where a case says something that has no meaning.
    """
    cases = [
        Case(path.stem, group['sentence'], content)
        for path in sorted(_HERE.glob('*.yaml'))
        if path.name != _MACHINE
        for group in _read(path.name)
        for content in group['cases']
    ]
    for case in cases:
        unknown = case.content.keys() - _KEYS
        if unknown:
            raise ValueError(f'{case.file}: {case.name}: {unknown}')
    return cases


def problems(case: Case) -> list[typing.Any]:
    """Return what is wrong with the rules of a case."""
    return [
        problem
        for rule in case.rules
        for problem in validation.validate(
            rule, registry.installed(), built_in=bool(rule.get('built_in'))
        )
    ]


def run(
    case: Case,
    rules: typing.Sequence[Json] | None = None,
    explain: bool = False,
) -> Result:
    """Run a case.

    :param rules: other rules than those of the case.
    :param explain: trace all rules, and why they match.
    """
    ops = registry.installed()
    tables = table_form.read_all(case.get('tables', {}))
    plans = [
        compiler.compile_rule(
            validation.parse(rule, ops),
            ops,
            case.get('mask_secrets', 'always'),
            tables=tables,
        )
        for rule in rules or case.rules
    ]
    target = working_copy.WorkingCopy(case.facts())
    # How busy a machine is decides about no case.
    outcome = runner.run(
        plans,
        target,
        case.get('scope'),
        explain,
        limits=dataclasses.replace(budget.MAIN, time=60.0),
    )
    return Result(outcome, target, [plan.rule.uuid for plan in plans])


def other_form(operation: Json, ops: typing.Mapping[str, registry.Op]) -> Json:
    """Write the arguments of an operation as a mapping instead of a list.

    And a list instead of a mapping, if one can hold the same arguments.
    """
    name, _inverted = model.split_op(operation['op'])
    if 'conditions' in operation:
        return {
            **operation,
            'conditions': [
                other_form(each, ops) for each in operation['conditions']
            ],
        }
    signature = ops[name].signature
    bound, _problems = signature.bind(operation.get('args'))
    if not isinstance(operation.get('args'), dict):
        return {**operation, 'args': bound}
    names = [
        argument.name
        for argument in signature.arguments
        if not argument.keyword_only
    ]
    if set(bound) != set(names[: len(bound)]) or (
        signature.arguments[0].variadic and isinstance(bound[names[0]], str)
    ):
        return operation
    return {**operation, 'args': [bound[name] for name in names[: len(bound)]]}


@functools.cache
def _read(name: str) -> typing.Any:
    with open(_HERE / name, encoding='utf-8') as stream:
        return yaml.safe_load(stream)


def _complete(rule: Json, index: int) -> Json:
    return {
        'uuid': str(uuid.UUID(int=index + 1)),
        'actions': [_NOTHING],
        **rule,
    }
