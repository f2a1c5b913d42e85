# SPDX-License-Identifier: Apache-2.0

"""Adopts rules of stock Ironic or ironic-inspector, and undoes the adoption.

Stock Ironic has rules in a table of its database and in a file of built-in
rules. To adopt a rule means:

1. It is converted to a rule of this package ("here") with the same meaning,
   which is stored in this package's table. Until it is stored, it is a
   candidate.
2. If it is in Ironic's table, it is set aside: its row stays there, but with
   a phase that stock Ironic never runs. The file is not changed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
import dataclasses
import itertools
import json
from typing import Any
import uuid

from ironic import objects
from ironic.common import context as ironic_context
from ironic.conf import CONF

from ironic_inspection_rules import conf
from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.db import rule as db_rule
from ironic_inspection_rules.db import rule_set
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import schema
from ironic_inspection_rules.engine.language import validation
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.inspection import stock_trial
from ironic_inspection_rules.kit.authoring.conversion import stock_rule
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.objects import machine as machine_object
from ironic_inspection_rules.objects import rule as rule_object
from ironic_inspection_rules.patches import name as patch_name
from ironic_inspection_rules.patches import stock_engine
from ironic_inspection_rules.plugins.legacy import translate
from ironic_inspection_rules.rule_file import stock_form

_UUID_IN_USE = _('a rule with the UUID %s is here already')

_SAME = 0
_DIFFERENT = 2
"""Exit statuses: whether the rules do the same here as in stock Ironic."""


@dataclasses.dataclass(frozen=True)
class StockRule:
    """A rule as stock Ironic stores it.

    :param fields: the fields of the rule: ``{'uuid': 'rack-7', 'conditions':
        [...], ...}``. The UUID may be any text.
    :param row: its row in Ironic's table, None if it comes from the file.
    """

    fields: Mapping[str, Any]
    row: adoption.Row | None = None

    @property
    def name(self) -> str:
        """The name of the rule in reports."""
        return self.fields.get('description') or self.fields['uuid']

    @property
    def priority(self) -> int:
        """The priority of the rule; 0 if a rule in the file has none."""
        return self.fields.get('priority') or 0


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A rule of stock Ironic or ironic-inspector that may be adopted.

    :param name: the description of the original rule, or else its UUID.
    :param rule: the converted rule, None if the rule cannot be converted.
    :param remark: the reason why the rule cannot be converted, or what changes
        by the conversion.
    :param stock: the original rule, None if it is not from stock Ironic.
    :param is_lossless: whether the conversion keeps everything of the rule.
    """

    name: str
    rule: model.Rule | None
    remark: str = ''
    stock: StockRule | None = None
    is_lossless: bool = True


def adopt_from_ironic(
    dry_run: bool,
    inventories: str | None = None,
    accept_differences: bool = False,
) -> int:
    """Adopt the rules that stock Ironic would run, either all or none.

    The rules are converted and first only tried: stock Ironic's engine and
    this package's engine run them on all known machines, and every difference
    is printed. Then the rules are stored, unless this is a dry run or there
    are differences that the user does not accept.

    :param dry_run: only print the rules and the differences.
    :param inventories: a directory with more inventories on which the rules
        are tried.
    :param accept_differences: adopt the rules even if some behave differently
        here. A rule that cannot be converted is then only set aside.
    :returns: the exit status: 0 if nothing differs, otherwise 2.
    :raises: :class:`.exceptions.InspectionRulesError` if the rules cannot be
        adopted. Nothing has changed in this case.
    """
    # Check that the tables exist, and that this Ironic has an engine that can
    # be called.
    migration.check()
    patch_name.check(stock_engine.NAMES)
    rows = adoption.read_ironic()
    candidates = _convert_all(rows)
    if not candidates:
        print(_('There are no rules to adopt.'))
        return _SAME
    conf.register_opts(CONF)
    status = _print_comparison(candidates, inventories)
    if dry_run:
        return status
    if status == _DIFFERENT and not accept_differences:
        print(
            _(
                'Nothing was adopted; --accept-differences adopts them all '
                'the same.'
            )
        )
        return status
    # In one transaction, store the converted rules and set Ironic's rows
    # aside. Store nothing if Ironic's table has changed since it was read.
    adoption.store(
        _build_rows(candidates),
        moved=rows,
        present=rows,
        origin=_build_origin(_("Adopted from Ironic's own inspection rules")),
    )
    _print_adopted(candidates)
    return status


def _print_comparison(
    candidates: list[Candidate], inventories: str | None
) -> int:
    """Print the rules to adopt, and what they would do differently here.

    Three things count as a difference: a result that differs between the two
    engines, a rule that loses something by its conversion, and a default
    scope, which limits the rules to some nodes.

    :param inventories: a directory with more inventories on which the rules
        are tried.
    :returns: the exit status: 0 if nothing differs, otherwise 2.
    """
    _print_candidates(candidates)
    # Print the differences between the engines that affect every rule. They
    # are always printed, and do not count.
    print(*stock_rule.IN_GENERAL, sep='\n')
    scope = CONF.inspection_rules.default_scope
    if scope:
        print(
            _(
                '[inspection_rules]default_scope is "%s": the rules will run '
                'on the nodes of that scope only, and ran on all'
            )
            % scope
        )
    differences = _try_in_both_engines(candidates, inventories)
    is_lossless = all(candidate.is_lossless for candidate in candidates)
    if differences or scope or not is_lossless:
        return _DIFFERENT
    return _SAME


def _print_adopted(candidates: list[Candidate]) -> None:
    """Print how many rules were adopted, and the names of the others.

    A rule was not adopted if it could not be converted.
    """
    count = sum(candidate.rule is not None for candidate in candidates)
    print(
        _P(
            '%d rule was adopted; stock Ironic does not run it any more.',
            '%d rules were adopted; stock Ironic does not run them any more.',
            count,
        )
        % count
    )
    for candidate in candidates:
        if candidate.rule is not None:
            continue
        is_in_table = (
            candidate.stock is not None and candidate.stock.row is not None
        )
        if is_in_table:
            text = _(
                "%s is not adopted; it is set aside in Ironic's table, and "
                'nobody runs it.'
            )
        else:
            text = _(
                '%s is not adopted; it stays in the file, and nobody runs it.'
            )
        print(text % candidate.name)
    print(_('ironic-inspection-rules-dbsync adopt --undo puts all back.'))


def undo(dry_run: bool) -> int:
    """Undo the adoption: let stock Ironic run the original rules again.

    Rows of Ironic's table that were set aside get their phase back. The
    adopted rules, which are copies of rules in Ironic's table or file, are
    removed from this package's table. Every rule is printed.

    :param dry_run: only print what would happen.
    :returns: the exit status, which is always 0.
    """
    migration.check()
    rows = adoption.read_ironic(set_aside=True)
    # The descriptions and times of the rules in this package's table, by UUID.
    descriptions = dict(db_rule.list_values('description'))
    changed_at_by_uuid = dict(db_rule.list_values('updated_at'))
    adopted_uuids = _find_adopted_uuids(
        [*rows, *_read_built_in_rules()], uuids_here=descriptions
    )
    _print_given_back(rows, descriptions)
    _print_removed(adopted_uuids, descriptions, changed_at_by_uuid)
    if not rows and not adopted_uuids:
        print(_('There is nothing to put back.'))
    elif not dry_run:
        # In one transaction, write the phases of the rows back and remove the
        # copies.
        adoption.restore(
            rows,
            adopted_uuids,
            _build_origin(_("Given back to Ironic's own inspection rules")),
        )
    return 0


def _find_adopted_uuids(
    stock_rules: Iterable[Mapping[str, Any]], uuids_here: Collection[str]
) -> list[str]:
    """Return the UUIDs of the adopted copies of stock Ironic's rules.

    A rule may have no copy, because it could not be converted or because its
    copy was removed.

    :param stock_rules: the rules in Ironic's table and file. The same rule may
        be in both.
    :param uuids_here: the UUIDs of the rules in this package's table.
    """
    adopted_uuids = []
    for stock in stock_rules:
        # In stock Ironic, a UUID may be any text. The UUID of the copy is
        # computed from that text.
        adopted_uuid = stock_form.uuid_of(stock['uuid'])
        if adopted_uuid in uuids_here and adopted_uuid not in adopted_uuids:
            adopted_uuids.append(adopted_uuid)
    return adopted_uuids


def _print_given_back(
    rows: list[adoption.Row], descriptions: Mapping[str, str | None]
) -> None:
    """Print the rules in Ironic's table that stock Ironic will run again.

    :param rows: these rules, which were set aside until now.
    :param descriptions: the descriptions of this package's rules, by UUID.
    """
    for row in rows:
        has_copy = stock_form.uuid_of(row['uuid']) in descriptions
        if has_copy:
            text = _("%s goes back to Ironic's own table")
        else:
            text = _(
                "%s goes back to Ironic's own table; it was removed "
                'here, or never could be a rule here'
            )
        print(text % (row['description'] or row['uuid']))


def _print_removed(
    adopted_uuids: list[str],
    descriptions: Mapping[str, str | None],
    changed_at_by_uuid: Mapping[str, Any],
) -> None:
    """Print which adopted rules are removed from this package's table.

    A user may have changed an adopted rule. The line then has the time of the
    last change, because this change is lost.

    :param adopted_uuids: the UUIDs of the rules that are removed.
    :param descriptions: the descriptions of this package's rules, by UUID.
    :param changed_at_by_uuid: the time of the last change of every rule, by
        UUID; None if the rule has not changed since it was adopted.
    """
    for adopted_uuid in adopted_uuids:
        changed_at = changed_at_by_uuid[adopted_uuid]
        if changed_at:
            text = _(
                '%(rule)s is removed here, with what was changed in it '
                'since, last at %(time)s UTC'
            )
        else:
            text = _('%(rule)s is removed here')
        print(
            text
            % {
                'rule': descriptions[adopted_uuid] or adopted_uuid,
                'time': changed_at,
            }
        )


def _convert_all(rows: list[adoption.Row]) -> list[Candidate]:
    """Convert the rules in Ironic's table and file that are not adopted yet.

    The rules of the table come before the rules of the file, because stock
    Ironic runs rules of the same priority in this order. Priorities that are
    too high for this package are lowered without changing the order.

    :param rows: the rules in Ironic's table that are not set aside.
    :returns: a candidate for every rule.
    :raises: Invalid if another rule already has one of the UUIDs.
    """
    uuids_here = _read_uuids_here()
    stock_rules = [
        *_read_rules_of_table(rows, uuids_here),
        *_read_new_built_in_rules(rows, uuids_here),
    ]
    _refuse_same_uuids(stock_rules)
    priorities = _lower_priorities([rule.priority for rule in stock_rules])
    candidates = []
    for rule, priority in zip(stock_rules, priorities, strict=True):
        candidates.append(_convert(rule, priority))
    return candidates


def _read_uuids_here() -> set[str]:
    """Return the UUIDs of the rules that this package already has."""
    return {rule_uuid for rule_uuid, _value in db_rule.list_values('uuid')}


def _read_rules_of_table(
    rows: Iterable[adoption.Row], uuids_here: Collection[str]
) -> list[StockRule]:
    """Return the rules in Ironic's table that are not adopted yet.

    :param rows: their rows.
    :param uuids_here: UUIDs of the rules that this package already has.
    :raises: Invalid if one of these rules has the UUID of a row.
    """
    rules = []
    for row in rows:
        # The row was never adopted, so the rule here is another rule.
        if stock_form.uuid_of(row['uuid']) in uuids_here:
            raise exceptions.Invalid(_UUID_IN_USE % row['uuid'])
        fields = dict(row)
        # The primary key of the row is not a field of the rule.
        fields.pop('id', None)
        rules.append(StockRule(fields=fields, row=row))
    return rules


def _refuse_same_uuids(stock_rules: list[StockRule]) -> None:
    """Check that all rules would have different UUIDs here.

    A rule in the file may have no UUID. Its UUID is then computed from its
    content, so two equal rules without UUIDs would have the same UUID.

    :raises: Invalid with the names of two rules that would have the same UUID.
    """
    name_by_uuid: dict[str, str] = {}
    for rule in stock_rules:
        rule_uuid = stock_form.uuid_of(rule.fields['uuid'])
        if rule_uuid in name_by_uuid:
            raise exceptions.Invalid(
                _(
                    '"%(one)s" and "%(other)s" have the same UUID, or the '
                    'same content and none: give one of them another'
                )
                % {'one': name_by_uuid[rule_uuid], 'other': rule.name}
            )
        name_by_uuid[rule_uuid] = rule.name


def _read_new_built_in_rules(
    rows: list[adoption.Row], uuids_here: Collection[str]
) -> list[StockRule]:
    """Return the rules in Ironic's file of built-in rules that are new here.

    A rule of the file is skipped if it is in Ironic's table as well, because
    the rule of the table is adopted. It is also skipped if this package has a
    rule with its UUID, because it was then adopted before.

    :param rows: the rules in Ironic's table.
    :param uuids_here: UUIDs of the rules that this package already has.
    """
    uuids_in_table = {stock_form.uuid_of(row['uuid']) for row in rows}
    new_rules = []
    for fields in _read_built_in_rules():
        rule_uuid = stock_form.uuid_of(fields['uuid'])
        if rule_uuid not in uuids_in_table and rule_uuid not in uuids_here:
            new_rules.append(StockRule(fields))
    return new_rules


def _lower_priorities(priorities: list[int]) -> list[int]:
    """Lower priorities to the range of this package, and keep their order.

    Priorities in stock Ironic's file may be any numbers. If 9 were the highest
    priority of this package, the priorities ``[20, 5, 30, 20]`` of four rules
    would become ``[8, 5, 9, 8]``.

    :returns: the new priorities, in the order of the given priorities.
    """
    lowered_by_priority: dict[int, int] = {}
    highest_allowed = schema.PRIORITIES[-1]
    for priority in sorted(set(priorities), reverse=True):
        lowered = min(priority, highest_allowed)
        lowered_by_priority[priority] = lowered
        # The next lower priority must stay below this one.
        highest_allowed = lowered - 1
    return [lowered_by_priority[priority] for priority in priorities]


def _convert(stock: StockRule, priority: int) -> Candidate:
    """Convert a rule of stock Ironic to a rule of this package.

    The remarks of the candidate say what the conversion loses, what an
    operator should check, and whether the priority changes.

    :param priority: the priority that the rule gets here.
    :returns: a candidate, which has no rule if the conversion failed.
    """
    ops = registry.installed()
    # "fills_values" says whether this release of Ironic fills in fields in the
    # values of "eq". The converted rule must do the same.
    converted = stock_rule.convert(
        {**stock.fields, 'priority': priority},
        ops,
        fills_values=stock_engine.fills_values(),
    )
    # "lost" is what the new rule does not do, and "hints" say what to check.
    remarks = [str(problem) for problem in (*converted.lost, *converted.hints)]
    rule = None
    if converted.rule is None:
        remarks.append(_('it cannot be a rule here, and is not adopted'))
    else:
        rule = validation.parse(converted.rule, ops)
    if priority != stock.priority:
        remarks.append(
            _('priority %(old)d becomes %(new)d')
            % {'old': stock.priority, 'new': priority}
        )
    return Candidate(
        stock.name,
        rule,
        remark='\n'.join(remarks),
        stock=stock,
        is_lossless=not converted.lost,
    )


def _try_in_both_engines(
    candidates: list[Candidate], inventories: str | None
) -> list[stock_trial.TrialDifference]:
    """Run the rules in Ironic's engine and in this one; compare the results.

    The rules run on all machines with a stored inventory, and on the machines
    of a directory. Nothing is saved. Every difference is printed, followed by
    the number of machines.

    :param inventories: the directory with inventories of more machines.
    :returns: the differences, in the order in which the rules run.
    """
    pairs = _pair_with_originals(candidates)
    differences: list[stock_trial.TrialDifference] = []
    machine_count = 0
    context = ironic_context.get_admin_context()
    for machine in _read_machines(inventories):
        machine_count += 1
        differences += stock_trial.compare(context, machine, pairs)
    differences = _sort_by_rule(differences, pairs)
    for difference in differences:
        print(f'{difference.rule}: {difference.machine}: {difference.what}')
    print(
        _P(
            "Tried with Ironic's own engine and this one on %(all)d "
            'machine; differences: %(found)d',
            "Tried with Ironic's own engine and this one on %(all)d "
            'machines; differences: %(found)d',
            machine_count,
        )
        % {'all': machine_count, 'found': len(differences)}
    )
    # A trial sends no requests, so the effect of this action is unknown.
    if 'api-call' in _collect_ops_of_actions(candidates):
        print(_('What api-call does was not tried.'))
    return differences


def _collect_ops_of_actions(candidates: Iterable[Candidate]) -> set[str]:
    """Return the names of the actions of the converted rules."""
    ops: set[str] = set()
    for candidate in candidates:
        if candidate.rule is not None:
            ops.update(action['op'] for action in candidate.rule.actions)
    return ops


def _sort_by_rule(
    differences: Iterable[stock_trial.TrialDifference],
    pairs: Sequence[stock_trial.Pair],
) -> list[stock_trial.TrialDifference]:
    """Return differences in the order of the rules that cause them.

    Some differences only occur if all rules run together. They belong to no
    rule, and come last.

    :param differences: the differences, in the order of the machines.
    :param pairs: the rules in the order in which they run, each with its
        conversion.
    """
    differences_by_rule: dict[str, list[stock_trial.TrialDifference]] = {}
    for pair in pairs:
        # Two rules may have the same name. They share a list.
        differences_by_rule[pair.name] = []
    without_rule: list[stock_trial.TrialDifference] = []
    for difference in differences:
        differences_of_rule = differences_by_rule.get(
            difference.rule, without_rule
        )
        differences_of_rule.append(difference)
    return [
        *itertools.chain(*differences_by_rule.values()),
        *without_rule,
    ]


def _pair_with_originals(
    candidates: list[Candidate],
) -> list[stock_trial.Pair]:
    """Pair every rule of stock Ironic with its conversion, to try both.

    :param candidates: candidates from stock Ironic.
    :returns: the pairs in the order in which stock Ironic runs the rules, with
        the highest priority first.
    """
    pairs = []
    for candidate in candidates:
        # A rule in a file may omit these fields, but stock Ironic's engine
        # reads them.
        stock_fields = {'sensitive': False, 'conditions': []}
        # This is only None for rules of ironic-inspector, which are not tried.
        if candidate.stock is not None:
            stock_fields.update(candidate.stock.fields)
        pairs.append(
            stock_trial.Pair(
                candidate.name,
                stock=stock_fields,
                ours=candidate.rule,
                mask_secrets=CONF.inspection_rules.mask_secrets,
            )
        )
    pairs.sort(key=_stock_priority, reverse=True)
    return pairs


def _stock_priority(pair: stock_trial.Pair) -> int:
    """Return the priority by which stock Ironic sorts its rules."""
    return pair.stock.get('priority') or 0


def _read_built_in_rules() -> list[dict[str, Any]]:
    """Read the rules in Ironic's file of built-in rules.

    :returns: the fields of every rule; no rules if the option
        ``[inspection_rules]built_in_rules`` is not set.
    :raises: Invalid if the file cannot be read.
    """
    path = CONF.inspection_rules.built_in_rules
    if not path:
        return []
    try:
        return stock_form.load(path)
    except ValueError as exc:
        raise exceptions.Invalid(str(exc)) from exc


def adopt_from_inspector(url: str, dry_run: bool) -> None:
    """Translate the rules of ironic-inspector, and store all or none of them.

    The rules are printed in a table, with the reason why a rule cannot be
    stored.

    :param url: the URL of ironic-inspector's database. This database is only
        read.
    :param dry_run: only print the table.
    :raises: :class:`.exceptions.InspectionRulesError` if a rule is invalid
        here, or if its UUID is taken. Nothing has changed in this case.
    """
    migration.check()
    uuids_here = _read_uuids_here()
    candidates = []
    for row in adoption.read_inspector(url):
        candidates.append(_translate_from_inspector(row, uuids_here))
    _print_candidates(candidates)
    bad_count = sum(candidate.rule is None for candidate in candidates)
    if bad_count:
        raise exceptions.Invalid(
            _P(
                '%(bad)d of %(all)d rule cannot be taken over; nothing was '
                'changed',
                '%(bad)d of %(all)d rules cannot be taken over; nothing was '
                'changed',
                len(candidates),
            )
            % {'bad': bad_count, 'all': len(candidates)}
        )
    if not dry_run:
        adoption.store(
            _build_rows(candidates),
            origin=_build_origin(_('Adopted from ironic-inspector')),
        )


def _translate_from_inspector(
    row: adoption.Row, uuids_here: Collection[str]
) -> Candidate:
    """Translate a rule of ironic-inspector to a rule of this package.

    :param row: the fields ``uuid``, ``description``, ``scope``, ``conditions``
        and ``actions`` of the rule, in the form of ironic-inspector's API.
    :param uuids_here: UUIDs of the rules that this package already has.
    :returns: a candidate. It has no rule if the rule is invalid here, or if
        its UUID is taken; its remark then says why.
    """
    name = row['description'] or row['uuid']
    try:
        rule = translate.parse(row, registry.installed())
    except exceptions.InvalidRule as exc:
        reasons = '\n'.join(map(str, exc.problems))
        return Candidate(name, rule=None, remark=reasons)
    if stock_form.uuid_of(rule.uuid) in uuids_here:
        return Candidate(name, rule=None, remark=_UUID_IN_USE % rule.uuid)
    return Candidate(name, rule)


def _build_origin(message: str) -> rule_set.ChangeOrigin:
    """Return the origin of a change by this command, for its revision."""
    conf.register_opts(CONF)
    return rule_set.ChangeOrigin(
        keep_revisions=CONF.inspection_rules.keep_revisions, message=message
    )


def _print_candidates(candidates: list[Candidate]) -> None:
    """Print a table of the rules to adopt, with a remark on every rule.

    A rule that cannot be adopted has an empty cell instead of a UUID.
    """
    rows = []
    for candidate in candidates:
        rule_uuid = ''
        if candidate.rule is not None:
            rule_uuid = candidate.rule.uuid
        remark = candidate.remark or _('good')
        rows.append([rule_uuid, candidate.name, remark])
    print(table.render([_('UUID'), _('Rule'), _('Remark')], rows))


def _build_rows(candidates: list[Candidate]) -> list[dict[str, Any]]:
    """Build the rows of this package's rule table for adopted rules.

    Candidates without a rule are skipped, because they cannot be adopted.

    :returns: values by column name, e.g. ``{'uuid': ..., 'phase': 'main',
        ...}``.
    """
    rows = []
    for candidate in candidates:
        if candidate.rule is None:
            continue
        # The UUID may have capitals or no dashes. Normalize it, because
        # queries compare UUIDs as text.
        rule_uuid = str(uuid.UUID(candidate.rule.uuid))
        rows.append(
            {
                **candidate.rule.to_mapping(),
                'uuid': rule_uuid,
                'version': rule_object.StoredRule.VERSION,
            }
        )
    return rows


def _read_machines(
    directory: str | None,
) -> Iterator[stock_trial.TrialMachine]:
    """Yield the machines with a stored inventory, then the machines in files.

    :param directory: a directory with inventory files, or None.
    """
    # Ironic's classes must be registered before any of them is used.
    objects.register_all()
    yield from _read_stored_machines()
    if directory:
        yield from _read_machines_of_files(directory)


def _read_stored_machines() -> Iterator[stock_trial.TrialMachine]:
    """Yield the nodes that have a stored inventory, with their ports.

    Nodes are read in pages of a hundred, because a cloud may have thousands of
    nodes.
    """
    context = ironic_context.get_admin_context()
    # The last node of the previous page; None before the first page.
    marker = None
    while True:
        nodes = objects.Node.list(context, limit=100, marker=marker)
        if not nodes:
            return
        node_by_id = {node.id: node for node in nodes}
        # Nodes without a stored inventory have no row here.
        rows_of_inventories = machine_object.InspectedMachine.list_inventories(
            context, list(node_by_id)
        )
        for row in rows_of_inventories:
            node = node_by_id[row['node_id']]
            yield stock_trial.TrialMachine(
                name=node.name or node.uuid,
                node=node,
                ports=objects.Port.list_by_node_id(context, node.id),
                port_groups=objects.Portgroup.list_by_node_id(
                    context, node.id
                ),
                inventory=json.loads(row['inventory'] or '{}'),
                plugin_data=json.loads(row['plugin_data'] or '{}'),
            )
        marker = nodes[-1]


def _read_machines_of_files(
    directory: str,
) -> Iterator[stock_trial.TrialMachine]:
    """Yield a machine for every inventory file in a directory.

    A file has no node, so every machine gets a newly enrolled node: its fields
    have their defaults, it has no traits, and it has a port for every
    interface with a MAC address. Node and ports are Ironic objects, because
    stock Ironic's engine accepts nothing else.
    """
    context = ironic_context.get_admin_context()
    # Without a path, this is a node whose fields have their defaults.
    new_node = machine_test.load_node(path=None)
    for path in machine_test.find_inventories([directory]):
        # The inventory, the plugin data, the node and its ports, as mappings.
        facts = machine_test.load_facts(path, new_node)
        node_fields = facts.node or {}
        node = _build_object(objects.Node, object_id=0, fields=node_fields)
        node.traits = objects.TraitList(context, objects=[])
        ports = []
        for port_id, port_fields in enumerate(facts.ports, 1):
            ports.append(_build_object(objects.Port, port_id, port_fields))
        yield stock_trial.TrialMachine(
            name=path,
            node=node,
            ports=ports,
            port_groups=[],
            inventory=facts.inventory,
            plugin_data=facts.plugin_data,
        )


def _build_object(
    object_class: Any, object_id: int, fields: Mapping[str, Any]
) -> Any:
    """Build an Ironic object that is not in any database.

    Every field of the object is set, because reading an unset field of an
    Ironic object is an error. A field without a value becomes None if it is
    nullable, otherwise False.

    :param object_class: the class of the object, e.g. ``objects.Node``.
    :param object_id: its ``id``, from which its UUID is computed as well.
    :param fields: the values of fields by name; ``id``, ``uuid`` and
        ``traits`` are ignored.
    """
    values: dict[str, Any] = {}
    for name, field in object_class.fields.items():
        # The traits of an Ironic object are objects, but here they are names,
        # so the caller sets them.
        if name in fields and name != 'traits':
            values[name] = fields[name]
        elif field.nullable:
            values[name] = None
        else:
            values[name] = False
    values['id'] = object_id
    values['uuid'] = str(uuid.UUID(int=object_id))
    return object_class(ironic_context.get_admin_context(), **values)
