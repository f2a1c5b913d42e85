# SPDX-License-Identifier: Apache-2.0

"""Implement ``evaluate --nodes``, which tries rules on many machines.

Ironic evaluates the rules on the stored data of the machines, and changes
nothing. The result of a machine is e.g. ``{'uuid': …, 'name': 'rack1-07',
'result': 'ok', 'error': None, 'changes': [{'object': 'traits', 'op': 'add',
'path': '/CUSTOM_GPU'}], …}``. It is ``ok`` if an inspection would pass,
``failed`` if it would fail, and ``error`` if the rules could not be tried,
e.g. because Ironic has no data of the machine.

In a comparison, Ironic evaluates the rules of files and the rules in force,
and a result has only the changes that differ between them. Machines that
change alike are printed as one group.
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
    """Add the options of ``evaluate`` that are for many machines."""
    node_selection.add_argument(
        parser,
        '--nodes',
        _('Try the rules on many machines. %s'),
        action='extend',
    )
    # Both options set "compare". It is None if neither is given.
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

    * ``--nodes`` is for many machines, ``--node`` and ``--inventory`` are for
      one machine.
    * ``--report``, ``--flavors``, ``--compare`` and ``--no-compare`` need
      ``--nodes``.
    * ``--prune`` and ``--compare`` need ``--rules``.

    :raises: CommandError that names the options.
    """
    # "--nodes" without a filter is an empty list, and selects all nodes.
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
    """Try rules on many nodes, and print what the rules would do.

    The rules are those of the files of ``--rules``, or the rules in force if
    the option is not given. With ``--report``, the whole result is also
    written to a page.

    :param caller: the command, which has the connection and the streams.
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
        rule_files.explain_refusal(files),
    ):
        # To find the rules that the files would replace, the rules in force
        # are needed with their details: conditions and actions.
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

    * 1 if a rule has an error on a machine, or if there are machines and the
      rules could not be tried on any of them;
    * 2 in a comparison if the result of a machine differs from the result of
      the rules in force;
    * 2 without a comparison if an inspection would fail;
    * 0 otherwise.

    :param totals: the counts of machines.
    """
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
    """The results of a node with and without a comparison.

    Both are the same object if nothing is compared, or if the caller has not
    asked for the whole result.

    :ivar compared: the result with the changes that differ from the rules in
        force.
    :ivar whole: the result with all changes that the rules make.
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
    """Try rules on nodes, and yield the results in the order of the nodes.

    The nodes are divided into pages of 200, and there is a request per page.

    :param nodes: the nodes, with ``uuid``.
    :param threads: send the requests.
    :param needs_whole: whether the caller also needs the whole results of a
        comparison, which takes a second request per page.
    :param options: further arguments of :func:`.fleet.evaluate_page`, e.g.
        ``rules`` and ``compare``. The rules must have UUIDs, because results
        refer to rules by UUID.
    """
    # This is called with the UUIDs of the nodes of a page.
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

    The answer to a comparison has only the changes that differ. If the caller
    also needs all changes, a second request is sent without a comparison.

    :param options: further arguments of :func:`.fleet.evaluate_page`, by name.
    :param needs_whole: whether the caller also needs the whole results.
    :param uuids: the UUIDs of the nodes.
    :raises: Invalid if an answer lacks results or important members.
    """
    answer = fleet.evaluate_page(baremetal, uuids, **options)
    compared_results = answer['nodes']
    is_comparison = bool(options.get('compare'))
    _check_results(compared_results, uuids, is_comparison)
    whole_results = compared_results
    if needs_whole and is_comparison:
        whole_options = {**options, 'compare': False}
        whole_answer = fleet.evaluate_page(baremetal, uuids, **whole_options)
        whole_results = whole_answer['nodes']
        _check_results(whole_results, uuids, is_comparison=False)
    results = []
    for compared, whole in zip(compared_results, whole_results, strict=True):
        results.append(NodeResults(compared=compared, whole=whole))
    return results


def _check_results(
    results: Sequence[JsonObject], uuids: Sequence[str], is_comparison: bool
) -> None:
    """Check that an answer says for every node what the exit status needs.

    :param results: the results of the answer.
    :param uuids: the UUIDs of the nodes of the request.
    :raises: Invalid if a node has no result, or an unknown one, or if a
        comparison does not say whether the result differs.
    """
    # Results belong to the nodes of the request by position.
    if len(results) != len(uuids):
        raise exceptions.Invalid(
            _("Ironic's answer has %(answered)d of %(nodes)d nodes")
            % {'answered': len(results), 'nodes': len(uuids)}
        )
    known_results = (summary.OK, summary.FAILED, summary.NOT_TRIED)
    for result in results:
        _require_member(result, 'result', known_results)
    if not is_comparison:
        return
    for result in results:
        # A node on which no rule was tried has no comparison.
        if result['result'] != summary.NOT_TRIED:
            _require_member(result, 'differs', (True, False))


def _require_member(
    node: JsonObject, name: str, values: Sequence[Any]
) -> None:
    """Check that a member of the result of a node has a known value.

    A result with an unknown value must not count as a result without problems.

    :param node: the result.
    :param name: the name of the member, e.g. ``differs``.
    :param values: the known values.
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

    :ivar title: the title of the page, e.g. ``rules.yaml compared with the
        rules in force``.
    :ivar sent: the rules of the files, which are sent to Ironic; None to try
        the rules in force.
    :ivar after_apply: all rules that are tried: those in force after the files
        are applied.
    :ivar is_compared: whether the results are compared with those of the rules
        in force.
    """

    title: str
    sent: list[rule_files.Rule] | None
    after_apply: Sequence[rule_files.Rule]
    is_compared: bool


def _choose_rules(
    files: file_set.RuleFiles, in_force: Sequence[JsonObject], parsed_args: Any
) -> _TriedRules:
    """Choose the rules to try, and decide whether results are compared.

    Without ``--rules``, the rules in force are tried, and there is nothing to
    compare them with. With ``--rules``, results are compared unless
    ``--no-compare`` is given.

    :param files: the files of ``--rules``.
    :param in_force: the rules in force. They need conditions and actions if
        there are files.
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
    # The value is None if neither option is given, and False for
    # "--no-compare".
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
    """Try the rules on the selected nodes, and count the results.

    :param files: the files of ``--rules``; empty to try the rules in force.
    :param in_force: the rules in force.
    :param flavors: the flavors for which fitting nodes are counted.
    :returns: two values. The first is the JSON data of ``-f json`` and of the
        page: ``{'title': …, 'rules': […], 'nodes': [RESULT, …], 'summary':
        {…}, …}``, with ``capacity`` if there are flavors. The second has the
        counts that decide the exit status.
    """
    tried = _choose_rules(files, in_force, parsed_args)
    rules_of_phase = _rules_of_phase(tried, parsed_args.phase)
    totals = summary.Summary(rules_of_phase, tried.is_compared)
    fleet_capacity = capacity.Capacity(flavors)
    # The present traits and resource class are shown next to the results. The
    # properties have the capabilities, whose gains and losses are counted.
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
            # Whether a flavor fits depends on all changes, not only on those
            # that differ from the rules in force.
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

    For example, ``[{'uuid': …, 'description': 'Tag GPUs', 'phase': 'main',
    'priority': 0, …}]``. Fields that a rule omits have their default.

    :param phase: the only phase that is tried; None for all phases.
    """
    rules = []
    for rule in tried.after_apply:
        # A rule in a file may omit its phase.
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
    """Print the result as text for people.

    The parts of the text are, in this order: the number of machines that pass
    and fail; tables of rules, of gains and losses, and of groups of machines;
    single machines if there are few; machines that need attention, e.g.
    because no rule matches; and the capacity if flavors were counted.

    :param result: the JSON data with ``rules``, ``nodes``, ``summary``, and
        possibly ``capacity``.
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
    # For example, "No rule matches: 12 (rack1-07, rack1-08 and 10 more)".
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
        counts = capacity_options.name_rules(result['capacity'], rule_names)
        parts += capacity_options.report_lines(counts, output)
    output.write('\n'.join(parts) + '\n')


def _totals_line(totals: JsonObject) -> str:
    """Return a sentence with the numbers of machines that pass and fail.

    For example, ``3 machines: 2 pass, 1 would fail``. In a comparison, the
    number of machines whose result differs from the result of the rules in
    force is appended.

    :param totals: the summary of all machines.
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
        # There is no comparison.
        return line
    text = _P(
        '%d gets another result than by the rules in force',
        '%d get other results than by the rules in force',
        different,
    )
    return f'{line}; {text % different}'


def _rules_table(totals: JsonObject, output: TextIO) -> Iterator[str]:
    """Yield a table that says how often each rule matched and failed.

    If no rules are tried, nothing is yielded. If rules in mode ``audit`` match
    machines, the table has one more column with their numbers.

    :param totals: the summary, whose ``rules`` have the counts.
    :param output: the stream to print to, which decides the width.
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
    """Yield a table that says what machines gain and lose.

    A row is e.g. ``trait | CUSTOM_GPU | 3 | 0``: three machines gain the trait
    and none loses it. There are also rows for resource classes and
    capabilities. If the table would be empty, nothing is yielded.

    :param totals: the summary, with ``gained`` and ``lost`` per kind.
    :param output: the stream to print to, which decides the width.
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
        # Use every name once, and begin with the gained names.
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

    A row is e.g. ``12 | rack1-07 | + CUSTOM_GPU``, with the number of
    machines, the name of one of them, and what happens to all of them. At most
    20 groups are shown. The number of further groups is yielded as a line.

    :param result: the JSON data with ``nodes`` and ``summary``.
    :param output: the stream to print to, which decides the width.
    """
    # The largest group comes first.
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
    """Yield a line per machine, if there are at most 10 machines.

    The line says how the machine fails, or what it would have if it passes.
    Nothing is yielded for a comparison, because its results have only the
    differences. Machines without data are listed elsewhere.

    :param result: the JSON data with ``nodes``.
    """
    nodes = result['nodes']
    if result['compared'] or len(nodes) > _MAX_NAMES:
        return
    for node in nodes:
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
    """Return a sentence about a node that passes.

    For example, ``rack1-07 passes and would have resource class big and no
    traits``. The resource class and the traits are named because Nova
    schedules instances by them.

    :param node: the result of the node, with its present traits and resource
        class.
    """
    # The traits, resource classes and capabilities, before and after the
    # changes.
    names_by_kind = summary.differences(node['changes'], node, compared=False)
    traits_after = names_by_kind[summary.TRAIT].after
    traits = _('no traits')
    if traits_after:
        traits = _('traits %s') % ', '.join(sorted(traits_after))
    # There is at most one, because a node has one resource class.
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

    First comes the error if the machines fail, then at most 8 changes. For
    example::

        fails: no disk
        + CUSTOM_GPU
        ~ /extra/rack = "r1"

    :param group: the group, with ``error`` and ``changes``.
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
        # The group differs nevertheless: either its machines failed with the
        # rules in force, or the differences are made by sensitive rules.
        yield _('passes, nothing changes but what sensitive rules may set')


def _change_line(change: JsonObject) -> str:
    """Return a line about a change of the machines of a group.

    For example::

        + CUSTOM_GPU                a trait is added
        - /extra/old                a value is removed
        + plugin_data /rack = "r1"  a value is added to plugin data
        ~ /extra/rack = "r1"        a value is replaced

    :param change: the change. It has ``varies`` instead of ``value`` if the
        machines get different values.
    """
    sign = {'add': '+', 'remove': '-'}.get(change['op'], '~')
    if change['object'] == 'traits':
        # A trait has no value that could be replaced.
        if change['op'] != 'remove':
            sign = '+'
        # The path of a trait is "/" followed by its name.
        name_of_trait = change['path'][1:]
        return f'{sign} {name_of_trait}'
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
