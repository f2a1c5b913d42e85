# SPDX-License-Identifier: Apache-2.0

"""Differences from one set of rules in files to another, rule by rule.

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
from ironic_inspection_rules.rule_file import document
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
_CHANGES = {replacement.CREATED: ADDED, replacement.DELETED: REMOVED,
            replacement.UPDATED: CHANGED, replacement.MOVED: MOVED}


@dataclasses.dataclass(frozen=True)
class RuleSet:
    """The rules of some files.

    ``named`` are the UUIDs that their author gave them; other rules have
    some that are made of what they are. ``meanings`` are what the rules
    mean, by UUID. ``tables`` are those of the files, by name.
    """

    paths: typing.Sequence[str]
    rules: typing.Sequence[model.Rule]
    named: frozenset[str]
    meanings: typing.Mapping[str, typing.Mapping[str, typing.Any]]
    tables: table.Tables = dataclasses.field(default_factory=dict)

    @classmethod
    def load(cls, paths: typing.Iterable[str],
             warn: typing.Callable[[str], typing.Any] = lambda line: None
             ) -> 'RuleSet':
        """Read the rules of files, folders and what is piped in.

        :param warn: see :func:`.file_rule.parse_all`.
        :raises: :class:`.exceptions.InvalidDocument` at the first problem.
        """
        files = table_file.rule_files(paths)
        documents = [document.load(path) for path in files]
        written = [each for read in documents
                   for each in file_rule.rules(read)]
        tables = table_file.build(table_file.load(documents))
        rules = file_rule.parse_all(written, registry.installed(), warn)
        table_file.check_rules(written, rules, tables)
        return cls(files, rules, frozenset(
            rule.uuid for rule, each in zip(rules, written, strict=True)
            if each.entry.get('uuid')),
            {rule.uuid: rule_meaning.of(rule) for rule in rules}, tables)


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
        """Return whether the rules are others than before."""
        return self.change not in ALIKE

    def as_dict(self) -> dict[str, typing.Any]:
        return {'title': self.title, 'change': self.change,
                'lines': list(self.lines)}


def compare_tables(old: RuleSet, new: RuleSet) -> list[dict[str, typing.Any]]:
    """Return the tables that change, in the form of a plan.

    Of each kind of row the first ones are shown, and of secret columns
    nothing.
    """
    steps = []
    for name in {**old.tables, **new.tables}:
        before, after = old.tables.get(name), new.tables.get(name)
        moved = before is not None and after is not None and (
            list(before.keys) != list(after.keys))
        step = table_change.Step(
            name, None if before is None else before.definition,
            None if after is None else after.definition,
            table_change.compare(before.pairs if before else (),
                                 after.pairs if after else ()), moved)
        if step.outcome != table_change.UNCHANGED:
            steps.append(step.as_dict())
    return steps


def compare(old: RuleSet, new: RuleSet
            ) -> tuple[list[RuleChange], list[model.Rule]]:
    """Return what changes, in the order of the new rules.

    A rule is the same one by its UUID; without one, by its description where
    that is unique in both; else by what it means, unless its author has given
    it another UUID.

    :returns: the changes, and the new rules with the UUIDs of the old ones
        that they are.
    """
    present = [{**rule.to_mapping(), 'position': float(number)}
               for number, rule in enumerate(old.rules, 1)]
    matched = _match(old, new, present)
    rules = [rule if pair is None else dataclasses.replace(
        rule, uuid=pair[0]['uuid'])
        for rule, pair in zip(new.rules, matched, strict=True)]
    after = {rule.uuid: new.meanings[written.uuid]
             for rule, written in zip(rules, new.rules, strict=True)}
    changes = []
    for step in replacement.decide([rule.to_mapping() for rule in rules],
                                   matched, present):
        if step.outcome not in _CHANGES:
            continue
        change = _CHANGES[step.outcome]
        rule = step.after or step.before or {}
        title = _title(rule)
        if change == CHANGED and _same(old.meanings.get(rule['uuid']),
                                       after.get(rule['uuid'])):
            change = REWRITTEN
            if 'description' in step.fields:
                change = RENAMED
                title = f'{_title(step.before or {})} → {title}'
            if step.position is not None:
                change = MOVED
        # A UUID that is made of a rule says nothing.
        sides = {side: fields and (
                     fields if fields['uuid'] in old.named | new.named
                     else {**fields, 'uuid': None})
                 for side, fields in (('before', step.before),
                                      ('after', step.after))}
        changes.append(RuleChange(title, change, (
            () if step.outcome == replacement.MOVED else tuple(
                replacement.lines({**sides, 'fields': step.fields})))))
    return changes, rules


def _match(old: RuleSet, new: RuleSet,
           present: typing.Sequence[replacement.Fields]
           ) -> list[tuple[replacement.Fields, str | None] | None]:
    known = {each.uuid for each in old.rules}
    unnamed = {each.description for each in old.rules
               if each.uuid not in old.named}
    # A rule that is given a UUID for the first time is known by its
    # description.
    matched = replacement.match([{
        'uuid': None if rule.description and (
            rule.uuid not in new.named
            or rule.uuid not in known and rule.description in unnamed)
        else rule.uuid, 'description': rule.description}
        for rule in new.rules], present)
    taken = {pair[0]['uuid'] for pair in matched if pair}
    left = [each for each in present if each['uuid'] not in taken]
    for index, rule in enumerate(new.rules):
        if matched[index] is not None:
            continue
        for each in left:
            if {each['uuid'] in old.named, rule.uuid in new.named} != {
                    True} and _same(old.meanings[each['uuid']],
                                    new.meanings[rule.uuid]):
                matched[index] = each, 'meaning'
                left.remove(each)
                break
    return matched


def _same(one: typing.Mapping[str, typing.Any] | None,
          other: typing.Mapping[str, typing.Any] | None) -> bool:
    return one is not None and other is not None and data_path.same(one, other)


def _title(rule: replacement.Fields) -> str:
    return str(rule['description'] or rule['uuid'])
