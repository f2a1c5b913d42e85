# SPDX-License-Identifier: Apache-2.0

"""Compare two rule sets: rules added, removed, changed, moved or renamed.

A rule that is only renamed, or that is written differently with the same
meaning, is listed, but does not count as a difference.

The comparison uses the plan that a server would make. It has a step per rule,
which changes the old rule (``before``) to the new rule (``after``). The server
knows a rule by its UUID. A rule without a UUID in its file gets a UUID derived
from its content, so an edit changes this UUID; the rule is then matched by its
description or by its meaning (see :mod:`.trial.rule_meaning`).
"""

import dataclasses
import typing

from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.kit.trial import rule_meaning
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.rule_set import replacement
from ironic_inspection_rules.rule_set import table_change

ADDED = 'added'
REMOVED = 'removed'
CHANGED = 'changed'
MOVED = 'moved'
RENAMED = 'renamed'
REWRITTEN = 'rewritten'
ALIKE = (RENAMED, REWRITTEN)
"""Changes of rules that still do the same."""

_CHANGES = {
    replacement.CREATED: ADDED,
    replacement.DELETED: REMOVED,
    replacement.UPDATED: CHANGED,
    replacement.MOVED: MOVED,
}


def _ignore(_line: str) -> None:
    """Ignore a warning, for callers that do not show warnings."""


@dataclasses.dataclass(frozen=True)
class ComparedRules:
    """The rules of some files.

    :ivar paths: the paths of the files.
    :ivar rules: the rules.
    :ivar given_uuids: the UUIDs that authors wrote in the files. The UUID of
        any other rule is derived from its content, so an edit changes it.
    :ivar meanings: the meanings of the rules, by UUID.
    :ivar tables: the tables of the files, by name.
    """

    paths: typing.Sequence[str]
    rules: typing.Sequence[model.Rule]
    given_uuids: frozenset[str]
    meanings: typing.Mapping[str, typing.Mapping[str, typing.Any]]
    tables: table.Tables = dataclasses.field(default_factory=dict)

    @classmethod
    def load(
        cls,
        paths: typing.Iterable[str],
        warn: typing.Callable[[str], typing.Any] = _ignore,
    ) -> 'ComparedRules':
        """Read the rules and tables of files, folders and standard input.

        All of them are validated, because only valid rules have a meaning.

        :param warn: called with a line about rules of stock Ironic and of
            ironic-inspector.
        :raises: :class:`.exceptions.InvalidDocument` at the first problem.
        """
        documents = table_file.read_documents(paths)
        written_rules: list[file_rule.WrittenRule] = []
        for rules_file in documents:
            written_rules += file_rule.list_rules(rules_file)
        tables = table_file.build(table_file.load(documents))
        rules = file_rule.parse_all(written_rules, registry.installed(), warn)
        # A rule may read a table of another file, so rules are checked after
        # all files have been read.
        table_file.check_rules(written_rules, rules, tables)
        given_uuids = set()
        for rule, written_rule in zip(rules, written_rules, strict=True):
            # A parsed rule always has a UUID. Only the file shows whether the
            # author wrote it.
            if written_rule.entry.get('uuid'):
                given_uuids.add(rule.uuid)
        meanings = {rule.uuid: rule_meaning.compute(rule) for rule in rules}
        files = [rules_file.path for rules_file in documents]
        return cls(
            paths=files,
            rules=rules,
            given_uuids=frozenset(given_uuids),
            meanings=meanings,
            tables=tables,
        )


@dataclasses.dataclass(frozen=True)
class RuleChange:
    """A change of one rule.

    :ivar title: the description or the UUID of the rule.
    :ivar change: one of the constants of this module, e.g. :data:`RENAMED`.
    :ivar lines: the hunks of a unified diff.
    """

    title: str
    change: str
    lines: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the new rules do something different."""
        return self.change not in ALIKE

    def as_dict(self) -> dict[str, typing.Any]:
        return {
            'title': self.title,
            'change': self.change,
            'lines': list(self.lines),
        }


def compare_tables(
    old: ComparedRules, new: ComparedRules
) -> list[dict[str, typing.Any]]:
    """Return the changes of tables, in the form of a plan.

    A changed table is e.g. ``{'name': 'racks', 'outcome': 'updated', 'rows':
    …, 'new': […], 'changed': […], 'gone': […]}``, with the first rows of every
    kind. Values of secret columns are masked. Unchanged tables are skipped.
    """
    steps = []
    # The names of all tables in a stable order, the old tables first.
    for name in {**old.tables, **new.tables}:
        before = old.tables.get(name)
        after = new.tables.get(name)
        is_in_other_order = False
        if before is not None and after is not None:
            # This is also true if rows are added or removed. The table is then
            # changed in any case.
            is_in_other_order = list(before.keys) != list(after.keys)
        changed_rows = table_change.compare(_rows_of(before), _rows_of(after))
        step = table_change.Step(
            name=name,
            before=_definition_of(before),
            after=_definition_of(after),
            difference=changed_rows,
            moved=is_in_other_order,
        )
        if step.outcome != table_change.UNCHANGED:
            steps.append(step.as_dict())
    return steps


def _definition_of(
    table_or_none: table.Table | None,
) -> table.TableDefinition | None:
    if table_or_none is None:
        return None
    return table_or_none.definition


def _rows_of(table_or_none: table.Table | None) -> table_change.Pairs:
    """Return pairs of key and row; none if there is no table."""
    if table_or_none is None:
        return ()
    return table_or_none.pairs


class RuleSetDifference(typing.NamedTuple):
    """The changes from one set of rules to another.

    :ivar changes: the changes, in the order of the new rules; removed rules
        come last.
    :ivar rules: the new rules. A new rule that matches an old rule has the
        UUID of the old rule.
    """

    changes: list[RuleChange]
    rules: list[model.Rule]


def compare(old: ComparedRules, new: ComparedRules) -> RuleSetDifference:
    """Return the changes from old rules to new rules.

    An old rule and a new rule are matched by UUID; without a UUID, by a
    description that is unique in both sets; otherwise by their meaning, unless
    authors have given them different UUIDs.
    """
    # Build the plan that a server would make if it had stored the old rules
    # and received the new rules.
    stored_rules = []
    for number, old_rule in enumerate(old.rules, 1):
        # A position in a plan is a float, so that a rule can move between two
        # others.
        position = float(number)
        stored_rules.append({**old_rule.to_mapping(), 'position': position})
    matches = _match_rules(old, new, stored_rules)
    # The new rules, and their meanings by UUID. A new rule that matches an old
    # rule gets its UUID, because the plan otherwise removes the old rule and
    # adds the new rule.
    rules = []
    new_meanings = {}
    for new_rule, match in zip(new.rules, matches, strict=True):
        rule = new_rule
        if match is not None:
            rule = dataclasses.replace(new_rule, uuid=match.stored['uuid'])
        rules.append(rule)
        new_meanings[rule.uuid] = new.meanings[new_rule.uuid]
    wanted_rules = [rule.to_mapping() for rule in rules]
    given_uuids = old.given_uuids | new.given_uuids
    changes = []
    for step in replacement.plan_steps(wanted_rules, matches, stored_rules):
        is_unchanged = step.outcome not in _CHANGES
        if is_unchanged:
            continue
        # The fields of the rule. A removed rule only has "before".
        fields = step.after or step.before or {}
        uuid = fields['uuid']
        # An added rule has no old meaning, and a removed rule has no new
        # meaning.
        keeps_meaning = _is_same_meaning(
            old.meanings.get(uuid), new_meanings.get(uuid)
        )
        changes.append(_describe_change(step, keeps_meaning, given_uuids))
    return RuleSetDifference(changes, rules)


def _describe_change(
    step: replacement.RuleStep,
    keeps_meaning: bool,
    given_uuids: frozenset[str],
) -> RuleChange:
    """Return the change of one rule: its title, its kind and its diff.

    If fields of a rule change, but its meaning does not, the kind is

    * :data:`MOVED` if the rule also has another position,
    * otherwise :data:`RENAMED` if only the description changes,
    * otherwise :data:`REWRITTEN`.

    In these three cases, the title shows both descriptions if they differ:
    "Set rack → Set the rack".

    :param step: the step of a plan that changes the old rule to the new rule.
    :param keeps_meaning: whether the rule still does the same.
    :param given_uuids: the UUIDs that authors gave to rules.
    """
    change = _CHANGES[step.outcome]
    # A removed rule only has "before".
    title = _title(step.after or step.before or {})
    if change == CHANGED and keeps_meaning:
        if step.new_position is not None:
            change = MOVED
        elif step.fields == ['description']:
            change = RENAMED
        else:
            change = REWRITTEN
        if 'description' in step.fields:
            old_title = _title(step.before or {})
            title = f'{old_title} → {title}'
    lines: typing.Iterable[str] = ()
    # A rule that only moves has no changed lines.
    if step.outcome != replacement.MOVED:
        lines = replacement.diff_lines(
            {
                'before': _hide_generated_uuid(given_uuids, step.before),
                'after': _hide_generated_uuid(given_uuids, step.after),
                'fields': step.fields,
            }
        )
    return RuleChange(title, change, tuple(lines))


def _hide_generated_uuid(
    given_uuids: frozenset[str], fields: replacement.Fields | None
) -> replacement.Fields | None:
    """Replace the UUID of a rule by None if it is derived from its content.

    The author has never seen this UUID, so it would only be confusing in a
    diff.

    :param given_uuids: the UUIDs that authors gave to rules.
    :param fields: the fields of the rule; None for a rule that is added or
        removed, which has no old or no new fields.
    """
    if not fields or fields['uuid'] in given_uuids:
        return fields
    return {**fields, 'uuid': None}


def _match_rules(
    old: ComparedRules,
    new: ComparedRules,
    old_fields: typing.Sequence[replacement.Fields],
) -> list[replacement.Match | None]:
    """Return the old rule that matches each new rule.

    First, rules are matched by UUID or description, as on the server:

    * A new rule whose author gave it a UUID is matched by this UUID, unless
      the author has just added the UUID to an old rule with this description.
    * Any other rule is matched by its description, because its UUID is derived
      from its content and changes with every edit.
    * A rule without a description can only be matched by its UUID.

    Then the remaining rules are matched by their meaning.

    :param old_fields: the old rules as mappings of their fields.
    :returns: matches in the order of the new rules; None for a rule that
        matches no old rule.
    """
    old_uuids = {rule.uuid for rule in old.rules}
    # The descriptions of old rules whose authors gave them no UUID.
    descriptions_without_uuid = {
        rule.description
        for rule in old.rules
        if rule.uuid not in old.given_uuids
    }
    identities = []
    for rule in new.rules:
        is_given = rule.uuid in new.given_uuids
        # Whether the author has just added the UUID to an old rule.
        is_just_added = (
            rule.uuid not in old_uuids
            and rule.description in descriptions_without_uuid
        )
        is_known_by_uuid = is_given and not is_just_added
        identity = {'uuid': rule.uuid, 'description': rule.description}
        if rule.description and not is_known_by_uuid:
            # Without a UUID, match() uses the description.
            identity['uuid'] = None
        identities.append(identity)
    matches = replacement.match(identities, old_fields)
    _add_matches_by_meaning(matches, old, new, old_fields)
    return matches


def _add_matches_by_meaning(
    matches: list[replacement.Match | None],
    old: ComparedRules,
    new: ComparedRules,
    old_fields: typing.Sequence[replacement.Fields],
) -> None:
    """Match the rules that have no match yet by their meaning.

    Otherwise a rule that was only renamed would count as removed and added.

    :param matches: the matches in the order of the new rules, which is
        changed; None for a rule that has no match yet.
    :param old_fields: the old rules as mappings of their fields.
    """
    matched_uuids = {match.stored['uuid'] for match in matches if match}
    unmatched = [
        fields for fields in old_fields if fields['uuid'] not in matched_uuids
    ]
    for index, rule in enumerate(new.rules):
        if matches[index] is not None:
            continue
        for fields in unmatched:
            old_uuid = fields['uuid']
            if old_uuid in old.given_uuids and rule.uuid in new.given_uuids:
                # The authors have given different UUIDs to the two rules.
                continue
            if _is_same_meaning(
                old.meanings[old_uuid], new.meanings[rule.uuid]
            ):
                matches[index] = replacement.Match(fields, 'meaning')
                unmatched.remove(fields)
                break


def _is_same_meaning(
    one: typing.Mapping[str, typing.Any] | None,
    other: typing.Mapping[str, typing.Any] | None,
) -> bool:
    """Return whether two meanings are equal; None is not equal to anything.

    One of them is None if the rule is added or removed.
    """
    if one is None or other is None:
        return False
    return data_path.is_same(one, other)


def _title(rule: replacement.Fields) -> str:
    return str(rule['description'] or rule['uuid'])
