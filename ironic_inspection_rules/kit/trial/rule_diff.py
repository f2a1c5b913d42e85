# SPDX-License-Identifier: Apache-2.0

"""diff: rules of two sets, rule by rule: added, changed, moved, renamed.

A rule that only has another description, or is written otherwise and means
the same, is listed but is no difference.
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
ALIKE = (RENAMED, REWRITTEN)  # Changes that make no difference.
_CHANGES = {
    replacement.CREATED: ADDED,
    replacement.DELETED: REMOVED,
    replacement.UPDATED: CHANGED,
    replacement.MOVED: MOVED,
}


def _ignore(_line: str) -> None:
    """Take a warning that nobody asked for."""


@dataclasses.dataclass(frozen=True)
class ComparedRules:
    """The rules of some files.

    ``named`` are the UUIDs that their author gave them; the UUID of any other
    rule is made of its content, so that an edit changes it. ``meanings`` are
    what the rules mean, by UUID. ``tables`` are those of the files, by name.
    """

    paths: typing.Sequence[str]
    rules: typing.Sequence[model.Rule]
    named: frozenset[str]
    meanings: typing.Mapping[str, typing.Mapping[str, typing.Any]]
    tables: table.Tables = dataclasses.field(default_factory=dict)

    @classmethod
    def load(
        cls,
        paths: typing.Iterable[str],
        warn: typing.Callable[[str], typing.Any] = _ignore,
    ) -> 'ComparedRules':
        """Read the rules and tables of files, folders and what is piped in.

        All of them are checked, as only valid rules have a meaning.

        :param warn: called with a line about rules of stock Ironic and of
            ironic-inspector.
        :raises: :class:`.exceptions.InvalidDocument` at the first problem.
        """
        documents = table_file.documents(paths)
        written_rules: list[file_rule.WrittenRule] = []
        for rules_file in documents:
            written_rules += file_rule.rules(rules_file)
        tables = table_file.build(table_file.load(documents))
        rules = file_rule.parse_all(written_rules, registry.installed(), warn)
        table_file.check_rules(written_rules, rules, tables)
        named = set()
        for rule, written_rule in zip(rules, written_rules, strict=True):
            if written_rule.entry.get('uuid'):
                named.add(rule.uuid)
        meanings = {rule.uuid: rule_meaning.of(rule) for rule in rules}
        files = [rules_file.path for rules_file in documents]
        return cls(files, rules, frozenset(named), meanings, tables)


@dataclasses.dataclass(frozen=True)
class RuleChange:
    """Change of one rule.

    :param change: one of the names above.
    :param lines: the hunks of a unified diff.
    """

    title: str
    change: str
    lines: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the rules do something else than before."""
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
    """Return the tables that change, in the form of a plan.

    A plan has the first of the added, removed and changed rows, and nothing of
    secret columns.
    """
    steps = []
    for name in {**old.tables, **new.tables}:
        before = old.tables.get(name)
        after = new.tables.get(name)
        moved = False
        if before is not None and after is not None:
            moved = list(before.keys) != list(after.keys)
        rows = table_change.compare(_pairs(before), _pairs(after))
        step = table_change.Step(
            name, _definition(before), _definition(after), rows, moved
        )
        if step.outcome != table_change.UNCHANGED:
            steps.append(step.as_dict())
    return steps


def _definition(rows: table.Table | None) -> table.TableDefinition | None:
    if rows is None:
        return None
    return rows.definition


def _pairs(rows: table.Table | None) -> table_change.Pairs:
    """Return the rows of a table by their keys; of no table none."""
    if rows is None:
        return ()
    return rows.pairs


class RuleSetDifference(typing.NamedTuple):
    """What changes from one set of rules to another.

    :ivar changes: in the order of the new rules; removed ones come last.
    :ivar rules: the new rules, with the UUIDs of the old ones that they are.
    """

    changes: list[RuleChange]
    rules: list[model.Rule]


def compare(old: ComparedRules, new: ComparedRules) -> RuleSetDifference:
    """Return what changes from old rules to new ones.

    A rule is the same one by its UUID; without one, by its description where
    that is unique in both; else by what it means, unless its author has given
    it another UUID.
    """
    present = []
    # A plan compares positions, as the server stores them: numbers with
    # fractions, so that a rule can move between two others.
    for number, rule in enumerate(old.rules, 1):
        present.append({**rule.to_mapping(), 'position': float(number)})
    matches = _match(old, new, present)
    rules = []
    new_meanings = {}
    for new_rule, match in zip(new.rules, matches, strict=True):
        rule = new_rule
        if match is not None:
            # So a plan takes it for the old rule, which it changes.
            rule = dataclasses.replace(new_rule, uuid=match.rule['uuid'])
        rules.append(rule)
        new_meanings[rule.uuid] = new.meanings[new_rule.uuid]
    named = old.named | new.named
    wanted = [rule.to_mapping() for rule in rules]
    changes = []
    for step in replacement.decide(wanted, matches, present):
        if step.outcome not in _CHANGES:
            continue
        fields = step.after or step.before or {}
        is_same = _same(
            old.meanings.get(fields['uuid']), new_meanings.get(fields['uuid'])
        )
        changes.append(_rule_change(step, is_same, named))
    return RuleSetDifference(changes, rules)


def _rule_change(
    step: replacement.RuleStep, is_same: bool, named: frozenset[str]
) -> RuleChange:
    """Return what changes of one rule.

    A rule with the same meaning is rewritten, renamed if its description is
    another one, or moved, which counts for more than both.

    :param is_same: whether it means the same before and afterwards.
    :param named: the UUIDs that authors gave rules.
    """
    change = _CHANGES[step.outcome]
    title = _title(step.after or step.before or {})
    if change == CHANGED and is_same:
        change = REWRITTEN
        if 'description' in step.fields:
            change = RENAMED
            title = f'{_title(step.before or {})} → {title}'
        if step.new_position is not None:
            change = MOVED
    lines: typing.Iterable[str] = ()
    if step.outcome != replacement.MOVED:
        lines = replacement.lines(
            {
                'before': _with_uuid_of(named, step.before),
                'after': _with_uuid_of(named, step.after),
                'fields': step.fields,
            }
        )
    return RuleChange(title, change, tuple(lines))


def _with_uuid_of(
    named: frozenset[str], fields: replacement.Fields | None
) -> replacement.Fields | None:
    """Return a rule without its UUID, unless an author gave it one.

    A UUID that is made of a rule says nothing.
    """
    if not fields or fields['uuid'] in named:
        return fields
    return {**fields, 'uuid': None}


def _match(
    old: ComparedRules,
    new: ComparedRules,
    present: typing.Sequence[replacement.Fields],
) -> list[replacement.Match | None]:
    """Return the old rule that every new one is, and by what it is known.

    First by UUID and description, as a plan on the server does, then by what
    the rules mean.

    :param present: the old rules.
    :returns: in the order of the new rules; None for a rule that is new.
    """
    old_uuids = {rule.uuid for rule in old.rules}
    # Of old rules to which their authors gave no UUID.
    descriptions_without_uuid = {
        rule.description for rule in old.rules if rule.uuid not in old.named
    }
    wanted = []
    for rule in new.rules:
        is_known_by_uuid = rule.uuid in new.named
        if rule.uuid not in old_uuids and (
            rule.description in descriptions_without_uuid
        ):
            # The author has given it a UUID for the first time.
            is_known_by_uuid = False
        uuid: str | None = rule.uuid
        if rule.description and not is_known_by_uuid:
            # A UUID that is made of the content is another one after an edit.
            uuid = None
        wanted.append({'uuid': uuid, 'description': rule.description})
    matches = replacement.match(wanted, present)
    matched = {match.rule['uuid'] for match in matches if match}
    unmatched = [rule for rule in present if rule['uuid'] not in matched]
    for index, rule in enumerate(new.rules):
        if matches[index] is not None:
            continue
        same = _with_same_meaning(old, new, rule, unmatched)
        if same is not None:
            matches[index] = replacement.Match(same, 'meaning')
            unmatched.remove(same)
    return matches


def _with_same_meaning(
    old: ComparedRules,
    new: ComparedRules,
    rule: model.Rule,
    left: typing.Iterable[replacement.Fields],
) -> replacement.Fields | None:
    """Return the first old rule that means the same as a new one.

    :param left: the old rules that match no new one yet.
    """
    for old_rule in left:
        uuid = old_rule['uuid']
        if uuid in old.named and rule.uuid in new.named:
            # Their author has given them different UUIDs.
            continue
        if _same(old.meanings[uuid], new.meanings[rule.uuid]):
            return old_rule
    return None


def _same(
    one: typing.Mapping[str, typing.Any] | None,
    other: typing.Mapping[str, typing.Any] | None,
) -> bool:
    """Return whether two meanings are the same; no rule means nothing."""
    return one is not None and other is not None and data_path.same(one, other)


def _title(rule: replacement.Fields) -> str:
    return str(rule['description'] or rule['uuid'])
