# SPDX-License-Identifier: Apache-2.0

"""Commands about recorded inspections, and about statistics of rules.

They are ``node rule run list`` and ``show``, ``node rule explain``, and
``inspection rule statistics``. A run is the record of an inspection: what the
rules did in each phase. The record of a phase has lists of rules, e.g.
``{'rules': [RULE, …], 'reverted': […], 'audit': […], 'saved': True}``. A rule
has the results of its conditions and the changes that it made, e.g.
``{'uuid': …, 'description': 'Note the rack', 'conditions': [{'op': 'eq',
'result': True, 'reason': 'values=[2, 2]'}], 'changes': [{'object': 'node',
'op': 'replace', 'path': '/extra/rack', 'before': 'r1', 'after': 'r2'}]}``.

For a sensitive rule, Ironic returns hardly more than the UUID, and says that
the rest is withheld.
"""

from collections.abc import Iterable, Iterator
import itertools
import json
from typing import Any

from osc_lib import exceptions as osc_exceptions
from osc_lib.cli import format_columns

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.client import inspection_run
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.rule_file import yaml_text

_COLUMNS = ('uuid', 'created_at', 'event', 'result', 'revision', 'error')
_COUNTS = (
    'uuid',
    'description',
    'mode',
    'runs',
    'matched',
    'failed',
    'last_matched_at',
)
_ALL_COUNTS = (
    'uuid',
    'description',
    'phase',
    'mode',
    'runs',
    'matched',
    'failed',
    'audited',
    'seconds',
    'last_matched_at',
    'last_matched_node',
    'since',
)

_VERBS = {'add': _('added'), 'remove': _('removed')}


class ListInspectionRuns(command.Lister):
    """List the recorded inspections of a node, newest first."""

    example = 'rack1-07'

    def add_arguments(self, parser):
        command.add_node(parser)
        parser.add_argument(
            '--limit',
            metavar='<limit>',
            type=arguments.parse_positive,
            help=_('Number of runs to list; all if not given'),
        )

    def take_action(self, parsed_args):
        """List the runs of the node, at most ``--limit`` of them.

        :returns: the titles of the columns, and one row per run.
        """
        runs = inspection_run.inspection_runs(
            self.baremetal, parsed_args.node, limit=parsed_args.limit
        )
        rows = []
        # For Ironic the limit is only the size of a page, and further pages
        # follow. Therefore the number of rows is limited here.
        for run in itertools.islice(runs, parsed_args.limit):
            # A table shows the error in short. JSON has the whole error.
            fields = {**run, 'error': command.ErrorCell(run['error'])}
            rows.append(tuple(fields[name] for name in _COLUMNS))
        return _COLUMNS, rows


class ShowInspectionRun(command.ShowOne):
    """Show what the rules did in one inspection of a node."""

    example = 'rack1-07'

    def add_arguments(self, parser):
        command.add_node(parser)
        parser.add_argument(
            'run',
            metavar='<run>',
            nargs='?',
            help=_('UUID of the run; the last one if not given'),
        )

    def take_action(self, parsed_args):
        """Return the fields of a run, with one more field per phase.

        A table shows a phase as lines for people. JSON has the whole record of
        the phase.

        :returns: two values: the names of the fields, and their values.
        """
        run = _read_run(self.baremetal, parsed_args.node, parsed_args.run)
        phases = run.pop('phases')
        run.pop('links', None)
        for name in model.PHASES:
            if name in phases:
                run[name] = Phase(phases[name])
        return tuple(run), tuple(run.values())


class Phase(format_columns.DictColumn):
    """A phase of a run, formatted as lines for people."""

    def human_readable(self):
        """Return the lines of the phase, or "nothing"."""
        return '\n'.join(phase_lines(self._value)) or _('nothing')


class ExplainInspection(command.BaremetalCommand):
    """Show which rule last set a value of a node, and why.

    Ask for an attribute (--path /extra/size), for a trait, for an attribute
    of a port, or why a rule matched or did not (--rule); without any of
    these, show everything that rules did in the last inspection.
    """

    example = 'rack1-07 --path /extra/vendor'

    def add_arguments(self, parser):
        """Add the node, the question and the format of the answer."""
        command.add_node(parser)
        question = parser.add_mutually_exclusive_group()
        for name, text in (
            (
                'path',
                _(
                    'Path of the value, such as /extra/size; '
                    '/plugin_data/… for plugin data'
                ),
            ),
            ('trait', _('Name of the trait')),
            (
                'rule',
                _(
                    'UUID of the rule, or its description where no '
                    'other has it'
                ),
            ),
        ):
            question.add_argument(f'--{name}', metavar=f'<{name}>', help=text)
        parser.add_argument(
            '--port',
            metavar='<port>',
            help=_('MAC address or UUID of the port that the path belongs to'),
        )
        parser.add_argument(
            '-f',
            '--format',
            choices=('text', 'json', 'yaml'),
            default='text',
            help=_('How to print the answer'),
        )

    def take_action(self, parsed_args):
        """Print the answer to a question about the node, or its last run.

        * With ``--path`` or ``--trait``, print which rule set the value.
        * With ``--rule``, print why the rule matched or not.
        * Without a question, print everything that rules did in the last run.

        The output is text, or the answer of the API as JSON or YAML.
        """
        baremetal = self.baremetal
        node = parsed_args.node
        # The query parameters of the request, e.g. {'port': '52:54:…', 'path':
        # '/extra/a'}. They are empty if there is no question.
        question = {}
        for name in ('path', 'trait', 'port', 'rule'):
            value = getattr(parsed_args, name)
            if value is not None:
                question[name] = value
        if 'rule' in question:
            question['rule'] = inspection_rule.find_inspection_rule(
                baremetal, question['rule']
            )
        if question:
            answer = inspection_run.explain(baremetal, node, **question)
        else:
            answer = _read_run(baremetal, node)
        if parsed_args.format == 'json':
            text = json.dumps(answer, indent=2)
        elif parsed_args.format == 'yaml':
            text = yaml_text.dump(answer)
        elif 'rule' in question:
            text = '\n'.join(rule_lines(answer))
        elif question:
            text = '\n'.join(answer_lines(answer))
        else:
            text = '\n'.join(run_lines(answer))
        self.app.stdout.write(text + '\n')


class ShowStatistics(command.Lister):
    """Show how often each inspection rule ran, matched and failed."""

    example = '--long'

    def add_arguments(self, parser):
        parser.add_argument(
            '--sort',
            metavar='<key>[:<direction>]',
            help=_(
                'Sort by this column, such as matched or matched:desc; in '
                'the order in which the rules run if not given'
            ),
        )
        parser.add_argument(
            '--long', action='store_true', help=_('Show all columns')
        )

    def take_action(self, parsed_args):
        """Read how often each rule ran, matched and failed.

        Ironic sorts the rules, e.g. by ``--sort matched:desc``.

        :returns: the names of the columns, and one row per rule.
        """
        key, _colon, direction = (parsed_args.sort or '').partition(':')
        statistics = inspection_run.rule_statistics(
            self.baremetal, sort_key=key or None, sort_dir=direction or None
        )
        columns: tuple[str, ...] = _COUNTS
        if parsed_args.long:
            columns = _ALL_COUNTS
        rows = []
        for counters in statistics:
            row = []
            for name in columns:
                value = counters[name]
                if name == 'seconds':
                    # This is a float with many digits, e.g. 0.0123456789.
                    value = round(value, 6)
                row.append(value)
            rows.append(tuple(row))
        return columns, rows


def _read_run(
    baremetal: Any, node: str, uuid: str | None = None
) -> dict[str, Any]:
    """Read a run of a node from Ironic.

    :param node: the name or UUID of the node.
    :param uuid: the UUID of the run; None for the last run.
    :returns: the run with its phases.
    :raises: CommandError if Ironic has no run of the node.
    """
    if uuid is not None:
        return inspection_run.get_inspection_run(baremetal, node, uuid)
    # The first run of the list is the newest.
    runs = inspection_run.inspection_runs(baremetal, node, limit=1)
    last_run = next(runs, None)
    if last_run is None:
        raise osc_exceptions.CommandError(
            _('No inspection of node %s is kept') % node
        )
    # A run in the list has no phases. Read it again with its phases.
    return inspection_run.get_inspection_run(baremetal, node, last_run['uuid'])


def phase_lines(phase: dict[str, Any]) -> Iterator[str]:
    """Yield lines about what the rules did in a phase.

    First come the rules that did not match and undid their earlier changes,
    then the rules that matched, then the rules in mode ``audit``. For
    example::

        undone: 5e1f6b5e-4a5c-4d1e-9c53-5b2f8f1c7a10 (Note the rack)
          /extra/rack: "r1" removed
        9f6c1d0e-7b3a-4d52-8c11-0e5f4a3b2c1d (Tag large machines)
          because ge: true (values=(128, 64))
          trait CUSTOM_BIG: added

    :param phase: the record of a phase of a run.
    """
    # The first line of a rule is its title, e.g. "undone: 5e1f…".
    for title, rules in (
        (_('undone: %s'), phase['reverted']),
        ('%s', phase['rules']),
        (_('audit: %s'), phase['audit']),
    ):
        for rule in rules:
            if disclosure.is_shown(rule):
                yield title % _rule_name(rule)
                for line in _lines_of_rule(rule):
                    yield f'  {line}'
            else:
                sensitive_rule = _('a sensitive rule, %s') % rule['uuid']
                yield title % sensitive_rule
    # Ironic does not record all changes if there are too many.
    left_out = phase.get('left_out')
    if left_out:
        yield _P('%d more change', '%d more changes', left_out) % left_out
    if not phase['saved']:
        yield _('Nothing of this was saved.')


def _lines_of_rule(rule: dict[str, Any]) -> Iterator[str]:
    """Yield lines about what a rule did in a phase, and why.

    For example::

        because ge: true (values=(128, 64))
        trait CUSTOM_BIG: added

    :param rule: the record of a rule that is not sensitive.
    """
    yield from _reason_lines(rule['conditions'], rule)
    # "confirmed" lists what the rule set to the value that it already had.
    changes = [*rule['changes'], *rule.get('confirmed', ())]
    yield from map(change_line, changes)
    if not changes:
        yield _('it changed nothing')
    if rule.get('error'):
        yield _('would fail: %s') % rule['error']


def _reason_lines(
    conditions: Iterable[dict[str, Any]], record: dict[str, Any]
) -> Iterator[str]:
    """Yield lines about why a rule matched, and which of its actions ran.

    There is a line per condition of the rule. An action has lines if it has
    conditions of its own, or if it did not run. For example::

        because eq: true (values=[2, 2])
        log was not carried out: the loop has no items
        fail was not carried out
          when ge: 0 times true, 3 times false

    The condition of an action is evaluated for every item of its loop, so its
    line counts the results.

    :param conditions: the conditions of the rule, with ``op``, ``result`` and
        ``reason``. The result is None if the condition was not evaluated.
    :param record: the record of the rule, or the answer of ``explain`` about
        it. Its member ``when``, if there is one, lists these actions.
    """
    for condition in conditions:
        result = _('undecided')
        if condition['result'] is not None:
            result = str(condition['result']).lower()
        yield _('because %(op)s: %(result)s%(reason)s') % {
            'op': condition['op'],
            'result': result,
            'reason': _in_brackets(condition['reason']),
        }
    for action in record.get('when', ()):
        yield _action_line(action)
        # A condition is e.g. {'op': 'ge', 'true': 0, 'false': 3, 'reason':
        # None}, whose members are filled into the text.
        for condition in action['conditions']:
            yield '  ' + _(
                'when %(op)s: %(true)d times true, %(false)d '
                'times false%(reason)s'
            ) % {**condition, 'reason': _in_brackets(condition['reason'])}


def _action_line(action: dict[str, Any]) -> str:
    """Return a line that says whether an action ran, and if not, why.

    For example, ``log was not carried out: the loop has no items``.

    :param action: e.g. ``{"action": "log", "ran": false, "reason": "the loop
        has no items"}``.
    """
    if action['ran']:
        return _('%s was carried out') % action['action']
    if action.get('reason'):
        return _('%(action)s was not carried out: %(reason)s') % action
    return _('%s was not carried out') % action['action']


def _in_brackets(remark: str | None) -> str:
    """Return a remark in brackets, to append to a line: `` (too small)``.

    If there is no remark, the text is empty.
    """
    if not remark:
        return ''
    return f' ({remark})'


def run_lines(run: dict[str, Any]) -> Iterator[str]:
    """Yield lines about a run: what the rules did per phase, and the error.

    For example::

        in run 3f2b… of 2026-01-31T10:00:00 (inspection, failed)
        phase main
          9f6c… (Tag large machines)
            …
        It failed: no disk
    """
    yield _run_line(run)
    for phase in model.PHASES:
        if phase not in run['phases']:
            continue
        yield _('phase %s') % phase
        lines = list(phase_lines(run['phases'][phase]))
        if not lines:
            lines = [_('nothing')]
        for line in lines:
            yield f'  {line}'
    if run['error']:
        yield _('It failed: %s') % command.extract_reason(run['error'])


def _run_line(run: dict[str, Any]) -> str:
    """Return a line with the UUID, time, event and result of a run.

    An example is ``in run 3f2b… of 2026-01-31T10:00:00 (inspection, ok)``.
    """
    return _('in run %(uuid)s of %(when)s (%(event)s, %(result)s)') % {
        'uuid': run['uuid'],
        'when': run['created_at'],
        'event': run['event'],
        'result': run['result'],
    }


def answer_lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield lines about the rule that set a value, and why that rule ran.

    If the rule is sensitive, this is only its UUID. Otherwise the lines have
    the change, the rule, the run, the conditions of the rule, and whether the
    value has changed since. For example::

        /extra/size: "big"
        by rule 9f6c… (Note the size), as of revision 7, phase main, action …
        in run 3f2b… of 2026-01-31T10:00:00 (inspection, ok)
        because ge: true (values=[128, 64])

    :param answer: the answer of ``explain`` for a path or a trait.
    """
    rule = answer['rule']
    if not disclosure.is_shown(answer):
        sentence = _('set by the sensitive rule %s; what it does is withheld')
        yield sentence % rule['uuid']
        return
    yield change_line(answer)
    sentence = _(
        'by rule %(rule)s, as of revision %(revision)s, phase '
        '%(phase)s, action %(action)s'
    )
    if answer['revision'] is None:
        # Built-in rules are not part of a revision of the stored rules.
        sentence = _('by rule %(rule)s, phase %(phase)s, action %(action)s')
    yield sentence % {
        'rule': _rule_name(rule),
        'revision': answer['revision'],
        'phase': answer['phase'],
        'action': answer['action'],
    }
    yield _run_line(answer['run'])
    if not answer['conditions']:
        yield _('because the rule has no conditions')
    yield from _reason_lines(answer['conditions'], answer)
    # "current" is true if the node still has the value, false if not, and null
    # if Ironic cannot tell.
    is_changed_since = answer['current'] is False
    if is_changed_since:
        value_now = json.dumps(answer['current_value'], ensure_ascii=False)
        now = command.shorten(value_now)
        if answer['sensitive_rules']:
            # One of these rules may have changed it. They are named below.
            yield _('Now it is %s.') % now
        else:
            yield (
                _(
                    'Now it is %s: something else has changed it since, no '
                    'change of the runs that are kept.'
                )
                % now
            )
    if answer['sensitive_rules']:
        yield _(
            'Sensitive rules ran later; what they change is not told: %s'
        ) % ', '.join(answer['sensitive_rules'])


def rule_lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield lines about whether a rule matched in a run, and what it did.

    If the rule is sensitive, only its UUID is shown, and whether it matched.
    The first line is e.g. ``rule 9f6c… (Note the size) matched``.

    :param answer: the answer of ``explain`` for a rule.
    """
    if answer['matched']:
        text = _('rule %s matched')
    else:
        text = _('rule %s did not match')
    yield text % _rule_name(answer['rule'])
    if disclosure.is_shown(answer):
        yield from _lines_of_outcome(answer)
    else:
        yield _('The rule is sensitive, and the rest is withheld.')


def _lines_of_outcome(answer: dict[str, Any]) -> Iterator[str]:
    """Yield lines about why a rule matched or not, and what it changed.

    They come in this order: the run, the conditions, the changes, and remarks,
    e.g. the error with which the inspection failed. For example::

        in run 3f2b… of 2026-01-31T10:00:00 (inspection, ok)
        because ge: true (values=[128, 64])
        /extra/size: "big"

    :param answer: the answer of ``explain`` for a rule that is not sensitive.
    """
    yield _run_line(answer['run'])
    if answer['decided_again']:
        yield _(
            'Evaluated again, on the data of that run and the node as it '
            'is now:'
        )
    # Conditions are null if it was not recorded what the rule did.
    is_recorded = answer['conditions'] is not None
    yield from _reason_lines(answer['conditions'] or (), answer)
    yield from map(change_line, answer['changes'])
    if answer['matched'] and is_recorded and not answer['changes']:
        yield _('it changed nothing')
    run = answer['run']
    if run['result'] == 'failed':
        # The error names the rule that failed the inspection, which may be
        # another rule.
        error = command.extract_reason(run['error'])
        yield _('The inspection failed: %s') % error
    if answer['mode'] == 'audit':
        yield _('Its mode is "audit": nothing of this was carried out.')
    if answer['error']:
        yield _('would fail: %s') % answer['error']
    if answer['reason']:
        yield answer['reason']


def change_line(change: dict[str, Any]) -> str:
    """Return a line about a change, with the place and the values.

    ==============================  ========================================
    A trait was added               ``trait CUSTOM_GPU: added``
    A value was removed             ``/extra/rack: "r2" removed``
    A value was added               ``/extra/rack: "r1"``
    A value was set to itself       ``/extra/rack: "r2", as it was already``
    A value was replaced            ``/extra/rack: "r1" → "r2"``
    ==============================  ========================================

    :param change: e.g. ``{'object': 'node', 'op': 'replace', 'path':
        '/extra/rack', 'before': 'r1', 'after': 'r2'}``.
    """
    if change['object'] == 'traits':
        return _trait_line(change)
    whole_before = json.dumps(change['before'], ensure_ascii=False)
    whole_after = json.dumps(change['after'], ensure_ascii=False)
    before = command.shorten(whole_before)
    after = command.shorten(whole_after)
    # For example, "/extra/rack" of the node, and "plugin_data/rack".
    where = change['path']
    if change['object'] != 'node':
        where = change['object'] + change['path']
    if change['op'] == 'remove':
        return _('%(where)s: %(before)s removed') % {
            'where': where,
            'before': before,
        }
    if change['op'] == 'add':
        return f'{where}: {after}'
    # Ironic shows every secret as "******". If both values look like this,
    # they may still differ.
    is_masked = '******' in whole_after
    if change['before'] == change['after'] and not is_masked:
        return _('%(where)s: %(after)s, as it was already') % {
            'where': where,
            'after': after,
        }
    return f'{where}: {before} → {after}'


def _trait_line(change: dict[str, Any]) -> str:
    """Return a line about a change of a trait.

    The line is ``trait CUSTOM_GPU: added``, ``trait CUSTOM_GPU: removed``, or
    ``trait CUSTOM_GPU: was there already`` if a rule added a trait that the
    node had.
    """
    # The path of a trait is "/" followed by its name.
    trait = _('trait %s') % change['path'][1:]
    if change['op'] == 'add' and change['before'] is not None:
        return _('%s: was there already') % trait
    return f'{trait}: {_VERBS[change["op"]]}'


def _rule_name(rule: dict[str, Any]) -> str:
    """Return the UUID of a rule, followed by its description in brackets.

    The description is left out if the rule has none, or if it is withheld.
    """
    return f'{rule["uuid"]}{_in_brackets(rule.get("description"))}'
