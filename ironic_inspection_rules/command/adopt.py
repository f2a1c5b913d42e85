# SPDX-License-Identifier: Apache-2.0

"""Adopt rules of stock Ironic or ironic-inspector, and undo the adoption."""

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

    :param fields: the fields of the rule, e.g. ``uuid`` and ``conditions``.
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
        """The priority of the rule; a rule in a file may have none."""
        return self.fields.get('priority') or 0


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A rule of stock Ironic or ironic-inspector that may be adopted.

    A rule is adopted when it is converted and stored as a rule of this
    package.

    :param rule: the converted rule, None if it cannot be adopted.
    :param remark: the reason why it cannot be adopted, or what changes.
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

    Rules in Ironic's table are set aside: they stay in the table, in a phase
    that stock Ironic never runs. Rules in its file of built-in rules are
    copied, unless they were adopted before.

    :param dry_run: only print what would be adopted, and what differs.
    :param inventories: a directory with more inventories on which the rules
        are tried.
    :param accept_differences: adopt the rules even if some behave differently
        here. A rule that cannot be converted is then only set aside.
    :returns: 0 if nothing differs, otherwise 2. A default scope counts as a
        difference.
    :raises: :class:`.exceptions.InspectionRulesError` if the rules cannot be
        adopted. Nothing has changed in this case.
    """
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
    adoption.store(
        _build_rows(candidates),
        moved=rows,
        # Store nothing if the table has changed since it was read.
        present=rows,
        origin=_build_origin(_("Adopted from Ironic's own inspection rules")),
    )
    _print_adopted(candidates)
    return status


def _print_comparison(
    candidates: list[Candidate], inventories: str | None
) -> int:
    """Print the rules to adopt, and everything they would do differently here.

    The differences are found by running the rules in both engines.

    :param inventories: a directory with more inventories on which the rules
        are tried.
    :returns: the exit status, which tells scripts whether anything differs.
    """
    _print_candidates(candidates)
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
    """Print the result of the adoption for the rules of stock Ironic."""
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
        if candidate.stock is not None and candidate.stock.row is not None:
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
    """Let Ironic run its own rules again, and remove the adopted ones here.

    Ironic's own rules are either rows of its table or entries of its file of
    built-in rules. An adoption changes the phase of the rows, so that Ironic
    does not run them ("set aside"), and stores copies of rules here. Some rows
    may have been set aside without a copy. This command gives all these rows
    their phase back, and removes the copies of both kinds of rules. The file
    was never changed. The command prints what happens to every rule.

    :param dry_run: only print what would happen.
    :returns: the exit status, which is always 0.
    """
    migration.check()
    rows = adoption.read_ironic(set_aside=True)
    # The descriptions and times of the rules that are stored here, by UUID.
    descriptions = dict(db_rule.list_values('description'))
    changed_at_by_uuid = dict(db_rule.list_values('updated_at'))
    adopted_uuids = []
    for rule in (*rows, *_read_built_in_rules()):
        # In Ironic a UUID may be any text. The copy has a UUID computed from
        # it.
        adopted_uuid = stock_form.uuid_of(rule['uuid'])
        is_here = adopted_uuid in descriptions
        # Skip a rule without a copy. The same rule may be both in the table
        # and in the file, so add its UUID only once.
        if is_here and adopted_uuid not in adopted_uuids:
            adopted_uuids.append(adopted_uuid)
    _print_given_back(rows, descriptions)
    _print_removed(adopted_uuids, descriptions, changed_at_by_uuid)
    if not rows and not adopted_uuids:
        print(_('There is nothing to put back.'))
    elif not dry_run:
        # Write back the phases of the rows, and remove the copies.
        adoption.restore(
            rows,
            adopted_uuids,
            _build_origin(_("Given back to Ironic's own inspection rules")),
        )
    return 0


def _print_given_back(
    rows: list[adoption.Row], descriptions: Mapping[str, str | None]
) -> None:
    """Print which rules go back to Ironic's own table.

    :param rows: the rules of Ironic's table that were set aside.
    :param descriptions: the descriptions of this package's rules, by UUID.
    """
    for row in rows:
        if stock_form.uuid_of(row['uuid']) in descriptions:
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
    """Print which adopted rules are removed here.

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
    """Convert the rules of stock Ironic to candidates.

    The rules of its table come before those of its file of built-in rules,
    because stock Ironic runs rules of the same priority in this order. Rules
    of the file that were adopted before are skipped. Priorities that are too
    high for this package are lowered without changing the order.

    :param rows: the rules in Ironic's table.
    :raises: Invalid if another rule already has one of the UUIDs.
    """
    # UUIDs of the rules that this package already has.
    taken = {rule_uuid for rule_uuid, _value in db_rule.list_values('uuid')}
    stock_rules = []
    for row in rows:
        # Rows that are set aside because they were adopted before are not
        # included. So a rule here with the same UUID came from elsewhere.
        if stock_form.uuid_of(row['uuid']) in taken:
            raise exceptions.Invalid(_UUID_IN_USE % row['uuid'])
        fields = dict(row)
        # The primary key of the row is not a field of the rule.
        fields.pop('id', None)
        stock_rules.append(StockRule(fields=fields, row=row))
    stock_rules += _read_new_built_in_rules(rows, taken)
    _refuse_same_uuids(stock_rules)
    priorities = _lower_priorities([rule.priority for rule in stock_rules])
    candidates = []
    for rule, priority in zip(stock_rules, priorities, strict=True):
        candidates.append(_convert(rule, priority))
    return candidates


def _refuse_same_uuids(stock_rules: list[StockRule]) -> None:
    """Refuse two rules that would get the same UUID here.

    A rule in the file may have no UUID. It then gets one that is computed from
    its content, so two equal rules get the same UUID.

    :raises: Invalid with the names of the first two such rules.
    """
    names: dict[str, str] = {}
    for rule in stock_rules:
        rule_uuid = stock_form.uuid_of(rule.fields['uuid'])
        if rule_uuid in names:
            raise exceptions.Invalid(
                _(
                    '"%(one)s" and "%(other)s" have the same UUID, or the '
                    'same content and none: give one of them another'
                )
                % {'one': names[rule_uuid], 'other': rule.name}
            )
        names[rule_uuid] = rule.name


def _read_new_built_in_rules(
    rows: list[adoption.Row], taken: set[str]
) -> list[StockRule]:
    """Return the rules to be adopted from Ironic's file of built-in rules.

    Rules that were adopted before, and rules that are in Ironic's table as
    well, are skipped.

    :param rows: the rules in Ironic's table.
    :param taken: UUIDs of the rules that this package already has.
    """
    in_table = {stock_form.uuid_of(row['uuid']) for row in rows}
    rules = []
    for fields in _read_built_in_rules():
        rule_uuid = stock_form.uuid_of(fields['uuid'])
        if rule_uuid not in in_table and rule_uuid not in taken:
            rules.append(StockRule(fields))
    return rules


def _lower_priorities(priorities: list[int]) -> list[int]:
    """Return priorities of which none is too high, without a new order.

    Priorities in stock Ironic's file may be any numbers. If 9 were the highest
    priority of this package, ``[20, 5, 30, 20]`` would become
    ``[8, 5, 9, 8]``.

    :returns: the new priority of every rule, in the given order.
    """
    lowered_by_priority: dict[int, int] = {}
    highest = schema.PRIORITIES[-1]
    for priority in sorted(set(priorities), reverse=True):
        lowered = min(priority, highest)
        lowered_by_priority[priority] = lowered
        # The next lower priority must stay below this one.
        highest = lowered - 1
    return [lowered_by_priority[priority] for priority in priorities]


def _convert(stock: StockRule, priority: int) -> Candidate:
    """Convert a rule of stock Ironic to a rule of this package.

    The remarks of the candidate say what the conversion loses, what an
    operator should check, and whether the priority changes.

    :param priority: the priority that the rule gets here.
    :returns: a candidate, which has no rule if the conversion failed.
    """
    ops = registry.installed()
    converted = stock_rule.convert(
        {**stock.fields, 'priority': priority},
        ops,
        fills_values=stock_engine.fills_values(),
    )
    # "lost" is what cannot be kept, and "hints" are what to check.
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
    """Run the rules on all known machines in the engines of both projects.

    It prints every difference between the results, and the number of machines.

    :param inventories: a directory with inventories of more machines.
    :returns: the differences, in the order in which the rules run.
    """
    pairs = _pair_with_originals(candidates)
    differences: list[stock_trial.TrialDifference] = []
    count = 0
    context = ironic_context.get_admin_context()
    for machine in _read_machines(inventories):
        count += 1
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
            count,
        )
        % {'all': count, 'found': len(differences)}
    )
    ops: set[str] = set()
    for candidate in candidates:
        if candidate.rule is not None:
            ops.update(action['op'] for action in candidate.rule.actions)
    if 'api-call' in ops:
        print(_('What api-call does was not tried.'))
    return differences


def _sort_by_rule(
    differences: Iterable[stock_trial.TrialDifference],
    pairs: Sequence[stock_trial.Pair],
) -> list[stock_trial.TrialDifference]:
    """Return differences in the order of the rules that cause them.

    A difference that only all rules together cause belongs to no rule, and
    comes last.

    :param pairs: the rules in their order, each with its conversion.
    """
    by_rule: dict[str, list[stock_trial.TrialDifference]] = {}
    for pair in pairs:
        # Two rules may have the same name.
        by_rule[pair.name] = []
    rest: list[stock_trial.TrialDifference] = []
    for difference in differences:
        by_rule.get(difference.rule, rest).append(difference)
    return [*itertools.chain(*by_rule.values()), *rest]


def _pair_with_originals(
    candidates: list[Candidate],
) -> list[stock_trial.Pair]:
    """Pair every stock rule with its conversion, to try both.

    The pairs are in the order in which stock Ironic runs the rules, with the
    highest priority first.
    """
    pairs = []
    for candidate in candidates:
        # A rule in a file may omit these fields, but stock Ironic's engine
        # reads them.
        fields = {'sensitive': False, 'conditions': []}
        # Only rules of ironic-inspector have no stock rule, and they are
        # never tried.
        if candidate.stock is not None:
            fields.update(candidate.stock.fields)
        pairs.append(
            stock_trial.Pair(
                candidate.name,
                stock=fields,
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
    """Read the file of Ironic's built-in rules, if it is configured.

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
    """Copy the rules of ironic-inspector's database, either all or none.

    It prints the rules in a table, with the reason for every rule that cannot
    be copied.

    :param url: the URL of its database, which is only read.
    :raises: :class:`.exceptions.InspectionRulesError` if a rule cannot be
        copied. Nothing has changed in this case.
    """
    migration.check()
    taken = {rule_uuid for rule_uuid, _value in db_rule.list_values('uuid')}
    candidates = []
    for row in adoption.read_inspector(url):
        candidates.append(_translate_from_inspector(row, taken))
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
    row: adoption.Row, taken: Collection[str]
) -> Candidate:
    """Translate a rule of ironic-inspector to a rule of this package.

    :param row: the rule: ``uuid``, ``description``, ``scope``, ``conditions``
        and ``actions``, in the form of ironic-inspector's API.
    :param taken: UUIDs of the rules that this package already has.
    :returns: a candidate. If the rule cannot be copied, the candidate has no
        rule, and its remark is the reason.
    """
    name = row['description'] or row['uuid']
    try:
        rule = translate.parse(row, registry.installed())
    except exceptions.InvalidRule as exc:
        reasons = '\n'.join(map(str, exc.problems))
        return Candidate(name, rule=None, remark=reasons)
    if stock_form.uuid_of(rule.uuid) in taken:
        return Candidate(name, rule=None, remark=_UUID_IN_USE % rule.uuid)
    return Candidate(name, rule)


def _build_origin(message: str) -> rule_set.ChangeOrigin:
    """Return the origin of a change by this command, for its revision."""
    conf.register_opts(CONF)
    return rule_set.ChangeOrigin(
        keep_revisions=CONF.inspection_rules.keep_revisions, message=message
    )


def _print_candidates(candidates: list[Candidate]) -> None:
    """Print a table of the rules to adopt, with a remark on every rule."""
    rows = []
    for candidate in candidates:
        rule_uuid = ''
        if candidate.rule is not None:
            rule_uuid = candidate.rule.uuid
        rows.append([rule_uuid, candidate.name, candidate.remark or _('good')])
    print(table.render([_('UUID'), _('Rule'), _('Remark')], rows))


def _build_rows(candidates: list[Candidate]) -> list[dict[str, Any]]:
    """Return the rows to insert for the candidates that can be adopted.

    A row is for the rule table of this package and maps column names to
    values.
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
    """Yield all machines with a stored inventory, then those in files."""
    objects.register_all()
    yield from _read_stored_machines()
    if directory:
        yield from _read_machines_of_files(directory)


def _read_stored_machines() -> Iterator[stock_trial.TrialMachine]:
    """Yield the nodes that have a stored inventory, with their ports.

    They are read in pages of a hundred, because a cloud may have thousands.
    Nodes without a stored inventory are skipped.
    """
    context = ironic_context.get_admin_context()
    marker = None
    while True:
        nodes = objects.Node.list(context, limit=100, marker=marker)
        if not nodes:
            return
        node_by_id = {node.id: node for node in nodes}
        for row in machine_object.InspectedMachine.list_inventories(
            context, list(node_by_id)
        ):
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
        # The next page starts after this node.
        marker = nodes[-1]


def _read_machines_of_files(
    directory: str,
) -> Iterator[stock_trial.TrialMachine]:
    """Yield a machine for every inventory file, to try stock rules on it.

    A file has no node, so every machine gets a node like those that Ironic
    creates on enrollment: without traits, and with a port for every interface
    that has a MAC address. Node and ports are Ironic objects, because Ironic's
    engine accepts nothing else.

    :param directory: the directory with the files.
    """
    context = ironic_context.get_admin_context()
    # Without a file for the node, all its fields have their defaults.
    new_node = machine_test.load_node(path=None)
    for path in machine_test.find_inventories([directory]):
        facts = machine_test.load_facts(path, new_node)
        node_fields = facts.node or {}
        node = _build_object(objects.Node, object_id=0, fields=node_fields)
        node.traits = objects.TraitList(context, objects=[])
        ports = []
        for port_id, port in enumerate(facts.ports, 1):
            ports.append(_build_object(objects.Port, port_id, port))
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

    The machine comes from a file, but stock Ironic's engine accepts only
    Ironic objects. All fields must be set, because reading an unset field is
    an error.

    :param object_class: the class of the object, e.g. ``objects.Node``.
    :param object_id: its ``id``, from which its UUID is computed as well.
    :param fields: values of fields; ``id``, ``uuid`` and ``traits`` in it are
        ignored. A field without a value becomes None if it is nullable,
        otherwise False.
    """
    values: dict[str, Any] = {}
    for name, field in object_class.fields.items():
        # The traits of an object are objects, but ``fields`` has only names.
        if name in fields and name != 'traits':
            values[name] = fields[name]
        elif field.nullable:
            values[name] = None
        else:
            values[name] = False
    values['id'] = object_id
    values['uuid'] = str(uuid.UUID(int=object_id))
    return object_class(ironic_context.get_admin_context(), **values)
