# SPDX-License-Identifier: Apache-2.0

"""Implement ``evaluate --nodes``, which tries rules on many machines.

This module evaluates the rules, prints groups of machines that change alike,
and chooses the exit status.
"""

from collections.abc import Iterator, Sequence
import functools
import itertools
import json
import os.path
from typing import Any, NamedTuple, TextIO

from osc_lib import exceptions as osc_exceptions
from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.client import fleet
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.osc import capacity as capacity_options
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel
from ironic_inspection_rules.kit.osc import rule_files
from ironic_inspection_rules.kit.report.pages import fleet as page
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial.fleet import capacity
from ironic_inspection_rules.kit.trial.fleet import flavor
from ironic_inspection_rules.kit.trial.fleet import summary
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import yaml_text

EXIT_ERROR = 1
EXIT_DIFFERENT = 2

# Limits of the tables for people. JSON output contains everything.
_MAX_GROUPS = 20
_MAX_NAMES = 10
_MAX_CHANGES = 8
_MAX_ERROR_LENGTH = 200
"""Long enough for the name of a rule, which comes before the reason."""

_BEFORE = ('traits', 'resource_class')
"""Fields of a node whose present values are added to a result."""

_RULE_FIELDS = (
    'uuid',
    'description',
    'phase',
    'priority',
    'mode',
    'sensitive',
)

JsonObject = dict[str, Any]


def add_arguments(parser: Any) -> None:
    """Add the options for many machines to the parser of ``evaluate``."""
    node_selection.add_argument(
        parser,
        '--nodes',
        _('Try the rules on many machines. %s'),
        action='extend',
    )
    # The default is None, which shows that neither option was given.
    compare = parser.add_mutually_exclusive_group()
    compare.add_argument(
        '--compare',
        action='store_true',
        default=None,
        help=_(
            'With --nodes and --rules, show only what differs from the '
            'results of the rules in force; this is the default'
        ),
    )
    compare.add_argument(
        '--no-compare',
        action='store_false',
        dest='compare',
        help=_('With --nodes and --rules, show everything that rules do'),
    )
    parser.add_argument(
        '--report',
        metavar='<file>',
        type=arguments.check_new_file,
        help=_('With --nodes, write a page with the whole result'),
    )
    capacity_options.add_argument(parser)
    parallel.add_jobs(parser)


def check_options(parsed_args: Any) -> None:
    """Refuse options of ``evaluate`` that cannot be combined.

    :raises: CommandError that names the options.
    """
    # ``--nodes`` without filters is an empty list, which selects all nodes.
    is_for_many = parsed_args.nodes is not None
    is_for_one = parsed_args.node or parsed_args.inventory
    has_options_for_many = (
        parsed_args.report
        or parsed_args.flavors
        or parsed_args.compare is not None
    )
    if is_for_many and is_for_one:
        raise osc_exceptions.CommandError(
            _(
                '--nodes is for machines that Ironic knows; leave out --node '
                'and --inventory'
            )
        )
    if has_options_for_many and not is_for_many:
        raise osc_exceptions.CommandError(
            _('--report, --flavors, --compare and --no-compare need --nodes')
        )
    if parsed_args.prune and not parsed_args.rules:
        raise osc_exceptions.CommandError(
            _('--prune needs --rules, which would be the whole rule set')
        )
    if parsed_args.compare and not parsed_args.rules:
        raise osc_exceptions.CommandError(
            _(
                '--compare needs --rules: without them the rules in force are '
                'tried'
            )
        )


def run(caller: Any, parsed_args: Any) -> int:
    """Try rules on many nodes, and print and report what the rules would do.

    This changes nothing in Ironic. The rules come from the files of
    ``--rules``. Without that option, the rules in force are tried.

    :param caller: the command.
    :returns: the exit status of the command.
    """
    files = rule_files.load(parsed_args.rules or [], caller.app.stderr)
    flavors: list[flavor.Flavor] = []
    if parsed_args.flavors:
        flavors = capacity_options.load_flavors(caller, parsed_args.flavors)
    selection = node_selection.NodeSelection.parse(parsed_args.nodes)
    baremetal = caller.baremetal
    with (
        parallel.interruptible(
            caller.app.stderr, _('Interrupted; nothing was changed')
        ),
        rule_files.explain_refusal(baremetal, files),
    ):
        # Conditions and actions are requested, because a rule in a file may be
        # matched to a rule in force by them.
        needs_details = bool(files.rules)
        in_force = list(
            inspection_rule.inspection_rules(baremetal, details=needs_details)
        )
        result, totals = _evaluate_fleet(
            baremetal, selection, files, in_force, flavors, parsed_args
        )
    if parsed_args.report:
        arguments.write(
            parsed_args.report, page.render(result), caller.app.stdout
        )
    # If the page is written to standard output, the result is discarded.
    output = arguments.choose_output(parsed_args.report, caller.app.stdout)
    if parsed_args.format == 'table':
        _print_tables(result, output)
        if parsed_args.report:
            output.write(_('The whole of it: %s\n') % parsed_args.report)
    elif parsed_args.format == 'yaml':
        output.write(yaml_text.dump(result, Dumper=yaml_text.FastDumper))
    else:
        output.write(json.dumps(result, indent=2) + '\n')
    return _exit_status(totals)


def _exit_status(totals: summary.Summary) -> int:
    """Return the exit status of ``evaluate --nodes``.

    The status is 1 if a rule has an error, or if there are machines but no
    data to try the rules on. With a comparison, it is 2 if the result of a
    node differs from the result of the rules in force. Without a comparison,
    it is 2 if an inspection would fail. Otherwise it is 0.
    """
    # Machines without data are an error only if no machine has data.
    nothing_tried = totals.machines > 0 and totals.tried == 0
    if totals.errors or nothing_tried:
        return EXIT_ERROR
    if totals.compared:
        is_different = totals.differ > 0
    else:
        is_different = totals.results[summary.FAILED] > 0
    if is_different:
        return EXIT_DIFFERENT
    return 0


class NodeResults(NamedTuple):
    """The two results of a node, as the API returns them.

    A result looks like ``{"uuid": ..., "result": "ok", "changes": [...]}``.

    :ivar compared: the result whose changes are only those that differ from
        the rules in force. If nothing is compared, it is the same as
        ``whole``.
    :ivar whole: the result with all changes that the rules make. If the caller
        does not need it (``needs_whole``), it is the same as ``compared``.
    """

    compared: JsonObject
    whole: JsonObject


def evaluate_nodes(
    baremetal: Any,
    nodes: Sequence[JsonObject],
    threads: parallel.RequestThreads,
    needs_whole: bool = False,
    **options: Any,
) -> Iterator[NodeResults]:
    """Try rules on nodes, page by page, and yield the results of each node.

    :param nodes: mappings with ``uuid``.
    :param needs_whole: whether the caller reads :attr:`NodeResults.whole`.
    :param options: further arguments of :func:`.fleet.evaluate_page`. All
        ``rules`` must have a UUID, because the results refer to rules by UUID,
        and the caller would not know a UUID that the server generates.
    """
    evaluate = functools.partial(
        _evaluate_page, baremetal, options, needs_whole
    )
    uuids = [node['uuid'] for node in nodes]
    uuids_by_page = [
        uuids[start : start + fleet.PAGE]
        for start in range(0, len(uuids), fleet.PAGE)
    ]
    # A page advances the progress bar by the number of its nodes.
    results_by_page = threads.map(
        evaluate, uuids_by_page, _('Trying'), weigh=len
    )
    return itertools.chain.from_iterable(results_by_page)


def _evaluate_page(
    baremetal: Any,
    options: dict[str, Any],
    needs_whole: bool,
    uuids: Sequence[str],
) -> list[NodeResults]:
    """Try rules on the nodes of one page, and return the results in order.

    The answer to a comparison contains only the changes that differ. If the
    caller also needs all changes, the page is requested again without a
    comparison.

    :param options: further arguments of :func:`.fleet.evaluate_page`, by name.
    :param needs_whole: whether the caller reads :attr:`NodeResults.whole`.
    :param uuids: the UUIDs of the nodes.
    :raises: Invalid if the answer omits a node, or does not say how an
        inspection would end or whether its result differs.
    """
    answer = fleet.evaluate_page(baremetal, uuids, **options)
    compared = answer['nodes']
    whole = compared
    if needs_whole and options.get('compare'):
        whole_options = {**options, 'compare': False}
        whole_answer = fleet.evaluate_page(baremetal, uuids, **whole_options)
        whole = whole_answer['nodes']
    results_of_nodes = (summary.OK, summary.FAILED, summary.NOT_TRIED)
    for answered_nodes in (compared, whole):
        # Results are matched to nodes by position.
        if len(answered_nodes) != len(uuids):
            raise exceptions.Invalid(
                _("Ironic's answer has %(answered)d of %(nodes)d nodes")
                % {'answered': len(answered_nodes), 'nodes': len(uuids)}
            )
        for node in answered_nodes:
            _require_member(node, 'result', results_of_nodes)
    if options.get('compare'):
        for node in compared:
            # A node on which no rule was tried has no comparison.
            if node['result'] != summary.NOT_TRIED:
                _require_member(node, 'differs', (True, False))
    results = []
    for differences, all_changes in zip(compared, whole, strict=True):
        results.append(NodeResults(compared=differences, whole=all_changes))
    return results


def _require_member(
    node: JsonObject, name: str, values: Sequence[Any]
) -> None:
    """Check that a member of an answer about a node has a known value.

    The exit status depends on these members. A node with an unknown value must
    not be counted as a node without problems.

    :param name: the name of the member, e.g. ``differs``.
    :raises: Invalid if the member is missing or has another value.
    """
    value = node.get(name)
    if value not in values:
        raise exceptions.Invalid(
            _(
                "Ironic's answer about node %(node)s has %(value)s as "
                '"%(name)s", where one of %(values)s is expected'
            )
            % {
                'node': _node_name(node),
                'value': json.dumps(value),
                'name': name,
                'values': ', '.join(map(json.dumps, values)),
            }
        )


class _TriedRules(NamedTuple):
    """The rules that are tried.

    :ivar title: the names of the rule files, for the report.
    :ivar sent: the rules of the files, which are sent to Ironic; None to try
        the rules in force.
    :ivar after_apply: the rules that would be in force after the files are
        applied.
    :ivar is_compared: whether only differences from the rules in force are
        requested.
    """

    title: str
    sent: list[rule_files.Rule] | None
    after_apply: Sequence[rule_files.Rule]
    is_compared: bool


def _choose_rules(
    files: file_set.RuleFiles, in_force: Sequence[JsonObject], parsed_args: Any
) -> _TriedRules:
    """Choose the rules to try, and decide whether their results are compared.

    :param in_force: the rules in force; with conditions and actions if there
        are rule files.
    """
    if not parsed_args.rules:
        return _TriedRules(
            _('The rules in force'),
            sent=None,
            after_apply=in_force,
            is_compared=False,
        )
    sent = rule_files.with_uuids(files.rules, in_force)
    after_apply = rule_files.rules_after_apply(
        sent, in_force, parsed_args.prune
    )
    title = ', '.join(map(os.path.basename, parsed_args.rules))
    # Comparing is the default: the value is None if neither --compare nor
    # --no-compare is given.
    is_compared = parsed_args.compare is not False
    if is_compared:
        title = _('%s compared with the rules in force') % title
    return _TriedRules(
        title, sent=sent, after_apply=after_apply, is_compared=is_compared
    )


def _evaluate_fleet(
    baremetal: Any,
    selection: node_selection.NodeSelection,
    files: file_set.RuleFiles,
    in_force: Sequence[JsonObject],
    flavors: Sequence[flavor.Flavor],
    parsed_args: Any,
) -> tuple[JsonObject, summary.Summary]:
    """Try the rules on the selected nodes.

    The rules are those of the files, or the rules in force if there are no
    files. By default, the results of files are compared with those of the
    rules in force.

    :param in_force: the rules in force.
    :returns: two values. The first is the JSON data for ``-f json`` and for
        the page: the result of every node, the summary and, if there are
        flavors, the capacity. The second is the summary object, which decides
        the exit status.
    """
    tried = _choose_rules(files, in_force, parsed_args)
    rules_of_phase = _rules_of_phase(tried, parsed_args.phase)
    totals = summary.Summary(rules_of_phase, tried.is_compared)
    fleet_capacity = capacity.Capacity(flavors)
    # Read the present traits and resource class of the nodes, which are shown
    # next to the results, and the properties, which have the capabilities.
    fields = [*_BEFORE, 'properties']
    if flavors:
        fields += capacity.FIELDS
    nodes = selection.read_matching_nodes(baremetal, *fields)
    entries = []
    with parallel.RequestThreads(parsed_args.jobs) as threads:
        all_results = evaluate_nodes(
            baremetal,
            nodes,
            threads,
            # A comparison returns only the changes that differ from those of
            # the rules in force. But whether a flavor fits depends on all
            # values that a node will have, so with flavors, the results with
            # all changes are needed, too.
            needs_whole=bool(flavors),
            rules=tried.sent,
            prune=parsed_args.prune,
            phase=parsed_args.phase,
            compare=tried.is_compared,
            tables=files.tables.entries,
        )
        for node, results in zip(nodes, all_results, strict=True):
            totals.add(results.compared, node)
            fleet_capacity.add(results.whole, node)
            # The traits and the resource class that the node has now.
            before = {name: node.get(name) for name in _BEFORE}
            entries.append({**results.compared, **before})
    now = timeutils.utcnow(with_timezone=True)
    result = {
        'made': now.isoformat(timespec='seconds'),
        'title': tried.title,
        'compared': tried.is_compared,
        'filters': selection.filters,
        'rules': rules_of_phase,
        'nodes': entries,
        'summary': totals.as_dict(),
    }
    if flavors:
        result['capacity'] = fleet_capacity.as_list()
    return result, totals


def _rules_of_phase(tried: _TriedRules, phase: str | None) -> list[JsonObject]:
    """List the rules that are tried, with the fields that reports show.

    :param phase: the phase of the rules; None for the rules of all phases.
    """
    rules = []
    for rule in tried.after_apply:
        # A rule in a file may omit fields.
        phase_of_rule = rule.get('phase') or model.MAIN
        is_tried = phase is None or phase == phase_of_rule
        if not is_tried:
            continue
        fields = {}
        for name in _RULE_FIELDS:
            fields[name] = rule.get(name)
            if fields[name] is None:
                fields[name] = model.DEFAULTS.get(name)
        rules.append(fields)
    return rules


def _print_tables(result: JsonObject, output: TextIO) -> None:
    """Print the result as short tables for people.

    :param result: the first value that :func:`_evaluate_fleet` returns.
    """
    totals = result['summary']
    parts = [
        _totals_line(totals),
        *_rules_table(totals, output),
        *_gains_table(totals, output),
        *_groups_table(result, output),
        *_machine_lines(result),
    ]
    if any(map(stored_rule.is_posted_sensitive, result['rules'])):
        parts.append(_('What sensitive rules would change is withheld.'))
    # An example is "No rule matches: 12 (rack1-07, rack1-08 and 10 more)".
    for sentence, nodes in (
        (
            _('Instances that would no longer validate: %s'),
            totals['invalid_instances'],
        ),
        (_('No rule matches: %s'), totals['unmatched']),
        (_('Not tried, as nothing is known of them: %s'), totals['not_tried']),
    ):
        if nodes:
            names = [_node_name(node) for node in nodes]
            first_names = capacity_options.join_first(names, _MAX_NAMES)
            parts.append(sentence % f'{len(nodes)} ({first_names})')
    if 'capacity' in result:
        rule_names = {
            rule['uuid']: _rule_name(rule) for rule in totals['rules']
        }
        parts += capacity_options.report_lines(
            result['capacity'], rule_names, output
        )
    output.write('\n'.join(parts) + '\n')


def _totals_line(totals: JsonObject) -> str:
    """Return a sentence with the number of machines that pass and fail.

    An example is ``3 machines: 2 pass, 1 would fail``. If the results were
    compared with the rules in force, the sentence also has the number of
    machines with a different result.
    """
    tried_count = totals['tried']
    passing = totals['ok']
    line = _('%(machines)s: %(passing)s, %(failed)d would fail') % {
        'machines': _P('%d machine', '%d machines', tried_count) % tried_count,
        'passing': _P('%d passes', '%d pass', passing) % passing,
        'failed': totals['failed'],
    }
    different = totals['differ']
    if different is None:
        # Nothing was compared.
        return line
    text = _P(
        '%d gets another result than by the rules in force',
        '%d get other results than by the rules in force',
        different,
    )
    return f'{line}; {text % different}'


def _rules_table(totals: JsonObject, output: TextIO) -> Iterator[str]:
    """Yield a table of how often each rule matched and failed.

    Nothing is yielded if no rules are tried. The column "Audited" counts the
    machines that a rule in mode ``audit`` matches. It is omitted if all its
    numbers are 0.
    """
    rules = totals['rules']
    if not rules:
        return
    columns = [_('Rule'), _('Phase'), _('Matches'), _('Failures'), _('Errors')]
    rows = [
        [
            _rule_name(rule),
            rule['phase'] or '',
            rule['matched'],
            rule['failed'],
            rule['errors'],
        ]
        for rule in rules
    ]
    if any(rule['audited'] for rule in rules):
        columns.append(_('Audited'))
        for row, rule in zip(rows, rules, strict=True):
            row.append(rule['audited'])
    yield table.render(columns, rows, output)


def _gains_table(totals: JsonObject, output: TextIO) -> Iterator[str]:
    """Yield a table of what machines gain and lose, unless it is empty.

    Each row has a trait, a resource class or a capability, the number of
    machines that gain it, and the number of machines that lose it.
    """
    titles = {
        summary.TRAIT: _('trait'),
        summary.RESOURCE_CLASS: _('resource class'),
        summary.CAPABILITY: _('capability'),
    }
    rows = []
    for kind in summary.KINDS:
        # Numbers of machines by name, e.g. {'CUSTOM_GPU': 3}.
        gained = totals[kind]['gained']
        lost = totals[kind]['lost']
        # This contains every name once, with the gained names first.
        for name in {**gained, **lost}:
            gained_by = gained.get(name, 0)
            lost_by = lost.get(name, 0)
            rows.append([titles[kind], name, gained_by, lost_by])
    if rows:
        yield table.render(
            [_('What'), _('Name'), _('Gained by'), _('Lost by')], rows, output
        )


def _groups_table(result: JsonObject, output: TextIO) -> Iterator[str]:
    """Yield a table of the largest groups of machines that change alike.

    Each row has the number of machines, the name of one of them, and what
    happens to all of them. If some groups are omitted, a last line has their
    number.
    """
    groups = result['summary']['groups']
    names = {node['uuid']: _node_name(node) for node in result['nodes']}
    rows = []
    for group in groups[:_MAX_GROUPS]:
        example = names[group['nodes'][0]]
        lines = '\n'.join(_lines_of_group(group))
        rows.append([group['count'], example, lines])
    if rows:
        yield table.render(
            [_('Machines'), _('Such as'), _('What becomes of them')],
            rows,
            output,
        )
    left_out = len(groups) - _MAX_GROUPS
    if left_out > 0:
        yield (
            _P(
                'and %d more group, see --report or -f json',
                'and %d more groups, see --report or -f json',
                left_out,
            )
            % left_out
        )


def _machine_lines(result: JsonObject) -> Iterator[str]:
    """Yield a line for each machine that was tried, if there are few machines.

    A comparison yields no lines, because its results contain only differences.
    """
    nodes = result['nodes']
    if result['compared'] or len(nodes) > _MAX_NAMES:
        return
    for node in nodes:
        # Machines that could not be tried are listed separately below.
        if node['result'] == summary.FAILED:
            yield _('%(name)s would fail: %(error)s') % {
                'name': _node_name(node),
                'error': command.shorten(
                    node['error'] or '', _MAX_ERROR_LENGTH
                ),
            }
        elif node['result'] == summary.OK:
            yield _passing_sentence(node)


def _passing_sentence(node: JsonObject) -> str:
    """Return a sentence about a node that passes, and what Nova will see.

    An example is ``rack1-07 passes and would have resource class big and no
    traits``. Nova schedules instances by the resource class and the traits.
    """
    # These are the names before and after the changes, by kind.
    names_by_kind = summary.differences(node['changes'], node, compared=False)
    traits_after = names_by_kind[summary.TRAIT].after
    traits = _('no traits')
    if traits_after:
        traits = _('traits %s') % ', '.join(sorted(traits_after))
    # This has at most one name, because a node has one resource class.
    classes_after = names_by_kind[summary.RESOURCE_CLASS].after
    resource_class = _('no resource class')
    if classes_after:
        resource_class = _('resource class %s') % ', '.join(classes_after)
    same = ''
    if not node['changes']:
        same = _(', as it has now')
    return _(
        '%(name)s passes and would have %(class)s and %(traits)s%(same)s'
    ) % {
        'name': _node_name(node),
        'class': resource_class,
        'traits': traits,
        'same': same,
    }


def _lines_of_group(group: JsonObject) -> Iterator[str]:
    """Yield the lines that say what happens to the machines of a group.

    Examples are ``fails: no disk``, or ``+ CUSTOM_GPU`` and ``~ /extra/rack =
    "r1"``.
    """
    if group['error']:
        yield _('fails: %s') % command.shorten(
            group['error'], _MAX_ERROR_LENGTH
        )
    for change in group['changes'][:_MAX_CHANGES]:
        yield _change_line(change)
    left_out = len(group['changes']) - _MAX_CHANGES
    if left_out > 0:
        text = _P('and %d more change', 'and %d more changes', left_out)
        yield text % left_out
    if not group['changes'] and not group['error']:
        # Either the machine passes but failed before, or the differences are
        # withheld.
        yield _('passes, nothing changes but what sensitive rules may set')


def _change_line(change: JsonObject) -> str:
    """Return a line about a change that all nodes of a group have in common.

    Examples are ``+ CUSTOM_GPU`` and ``~ /extra/rack = "r1"``. The sign is +
    if a value is added, - if it is removed, and ~ if it is replaced.
    """
    sign = {'add': '+', 'remove': '-'}.get(change['op'], '~')
    if change['object'] == 'traits':
        # A trait has no value that could change: it is added or removed.
        if change['op'] != 'remove':
            sign = '+'
        # The path of a trait is "/" followed by its name.
        return f'{sign} {change["path"][1:]}'
    where = change['path']
    if change['object'] != 'node':
        where = f'{change["object"]} {where}'
    if change['op'] == 'remove':
        return f'{sign} {where}'
    if change.get('varies'):
        value = _('(one of its own each)')
    else:
        text = json.dumps(change['value'], ensure_ascii=False)
        value = command.shorten(text)
    return f'{sign} {where} = {value}'


def _node_name(node: JsonObject) -> str:
    """Return the name of a node, or its UUID if it has no name."""
    return str(node['name'] or node['uuid'])


def _rule_name(rule: JsonObject) -> str:
    """Return the description of a rule, or its UUID if it has none."""
    return rule['description'] or rule['uuid'] or _('(unknown)')
