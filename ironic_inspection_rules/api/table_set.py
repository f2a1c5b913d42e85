# SPDX-License-Identifier: Apache-2.0

"""Tables that are posted together with rules, which look rows up in them."""

from collections.abc import Collection, Mapping, Sequence
import dataclasses
from typing import Any

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import table as db_table
from ironic_inspection_rules.engine.language import effects
from ironic_inspection_rules.engine.language import interpolation
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import table_check
from ironic_inspection_rules.engine.language import table_form
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_set import repository
from ironic_inspection_rules.rule_set import table_change
from ironic_inspection_rules.rule_set import table_store

MEMBER: dict[str, Any] = {'tables': {'type': ['object', 'null']}}
"""The member of a request with tables, as JSON Schema."""


@dataclasses.dataclass(frozen=True)
class Decided:
    """The plan of a change of the tables, which is not stored yet.

    ``steps`` are of stored tables and of given ones, ``tables`` all that are
    in force afterwards, ``stored`` those that were stored before.
    """

    steps: Sequence[table_change.Step]
    tables: table.Tables
    stored: Mapping[str, table_store.StoredTable] = dataclasses.field(
        default_factory=dict
    )

    def changes_to_store(self) -> list[dict[str, Any]]:
        """Return the tables that change, for :meth:`.StoredRule.change`."""
        changes = []
        for step in self.steps:
            if step.outcome == table_change.UNCHANGED:
                continue
            change: dict[str, Any] = {
                'name': step.name,
                'rows': step.difference.counts,
                'definition': None,
            }
            if step.after is not None:
                new_table = self.tables[step.name]
                change['definition'] = table_store.definition_to_store(
                    new_table
                )
                change['size'] = len(new_table)
                stored_table = self.stored.get(step.name)
                change['chunks'] = _chunks(new_table, stored_table)
            changes.append(change)
        return changes


def _chunks(
    new_table: table.Table, stored_table: table_store.StoredTable | None
) -> list[db_table.Stored]:
    """Return the chunks of a table, with the texts of new chunks only.

    The texts of all chunks would take as much memory as the rows.

    :param stored_table: the table that it replaces, None if it is new.
    :returns: pairs of the digest of a chunk, which identifies it, and its
        text; None for a chunk that is stored already.
    """
    stored_digests: Collection[str] = ()
    if stored_table is not None:
        stored_digests = stored_table.chunks.keys()
    chunks: list[db_table.Stored] = []
    for chunk in db_table.split(new_table.pairs):
        if chunk.digest in stored_digests:
            chunks.append([chunk.digest, None])
        else:
            chunks.append([chunk.digest, chunk.text])
    return chunks


def decide(
    posted: Any,
    prune: bool,
    in_force: repository.Snapshot,
    built_in: table.Tables,
) -> Decided:
    """Decide what becomes of the stored tables where tables are posted.

    :param posted: the JSON form of tables by name; None leaves all stored
        tables, whatever ``prune`` is.
    :param prune: whether stored tables that were not posted are deleted.
    :returns: the changes to store, and all tables afterwards.
    :raises: InvalidTables with the places of all problems.
    """
    if posted is None:
        return Decided((), in_force.tables)
    _refuse_built_in(posted, built_in)
    given = _read(posted, in_force.stored_tables)
    return _decide(given, prune, in_force.stored_tables, built_in)


def decide_restored(
    of_revision: table.Tables,
    in_force: repository.Snapshot,
    built_in: table.Tables,
) -> Decided:
    """Decide what becomes of the stored tables where a revision is restored.

    Stored tables that the revision has not are deleted.

    :param of_revision: the tables of the revision, with their secrets.
    :returns: the changes to store, and all tables afterwards.
    :raises: InvalidTables where one of these tables is built in by now.
    """
    _refuse_built_in(of_revision, built_in)
    return _decide(
        of_revision,
        prune=True,
        stored=in_force.stored_tables,
        built_in=built_in,
    )


def _decide(
    given: table.Tables,
    prune: bool,
    stored: Mapping[str, table_store.StoredTable],
    built_in: table.Tables,
) -> Decided:
    """Decide which tables are created, changed, deleted or stay.

    :param given: the tables that were posted, or those of a revision.
    :param prune: whether stored tables that were not given are deleted.
    """
    steps = []
    for name, given_table in given.items():
        steps.append(_compare(name, stored.get(name), given_table))
    after = dict(given)
    for name, stored_table in stored.items():
        if name in given:
            continue
        if prune:
            steps.append(_compare(name, before=stored_table, after=None))
        else:
            after[name] = stored_table.table
    return Decided(steps, {**after, **built_in}, stored)


def _refuse_built_in(given: Any, built_in: table.Tables) -> None:
    """Check that none of the given tables is built in.

    :param given: tables by name, or whatever was posted in their place.
    :raises: InvalidTables that names all of them.
    """
    if not isinstance(given, Mapping):
        # table_form.read_all() says that it must be one.
        return
    problems = []
    for name in built_in:
        if name in given:
            problems.append(
                exceptions.Problem(
                    f'/tables/{name}', _('table "%s" is built-in') % name
                )
            )
    if problems:
        raise exceptions.InvalidTables(problems)


def _read(
    posted: Any, stored: Mapping[str, table_store.StoredTable]
) -> dict[str, table.Table]:
    """Read the given tables from their JSON form.

    A table that is exported has no secret columns. Secrets that a given table
    lacks are taken from the stored one, by the key of the row.

    :raises: InvalidTables.
    """
    given = table_form.read_all(posted)
    for name, given_table in given.items():
        if name not in stored:
            continue
        rows = table_change.with_kept_secrets(given_table, stored[name].table)
        if rows is not None:
            # Checked again: a type may be new for a value that was kept.
            given[name] = table_form.read(
                name, {**given_table.definition.as_dict(), 'rows': rows}
            )
    return given


def _compare(
    name: str,
    before: table_store.StoredTable | None,
    after: table.Table | None,
) -> table_change.Step:
    """Return what becomes of a table, compared with the stored one.

    A large table changes in few rows. Rows are stored in chunks, by the
    digest of their content: only those in chunks that one of both tables has
    alone are compared.

    :param before: the stored table, None for one that is new.
    :param after: the table that takes its place, None where it is removed.
    """
    definition_before = None
    digests_before: Collection[str] = ()
    if before is not None:
        definition_before = before.table.definition
        digests_before = before.chunks.keys()
    definition_after = None
    # A dict keeps their order.
    digests_after: dict[str, None] = {}
    # Rows of chunks that only the new table has.
    added: list[db_table.Pair] = []
    if after is not None:
        definition_after = after.definition
        for chunk in db_table.split(after.pairs):
            digests_after[chunk.digest] = None
            if chunk.digest not in digests_before:
                added += chunk.pairs
    # Rows of chunks that only the stored table has. A row may be among the
    # added ones, too: if a row changes, its neighbours are in another chunk.
    dropped: list[db_table.Pair] = []
    if before is not None:
        for digest in digests_before:
            if digest not in digests_after:
                dropped += before.pairs(digest)
    has_other_order = list(digests_before) != list(digests_after)
    if before is not None and after is not None:
        has_other_columns = before.table.columns != after.columns
        has_other_order = has_other_order or has_other_columns
    return table_change.Step(
        name,
        before=definition_before,
        after=definition_after,
        difference=table_change.compare(before=dropped, after=added),
        moved=has_other_order,
    )


def find_missing(
    fields: Mapping[str, Any] | model.Rule, tables: table.Tables
) -> list[exceptions.Problem]:
    """Return what a rule reads that no table has.

    :param fields: a valid rule.
    """
    rule = fields
    if not isinstance(rule, model.Rule):
        rule = model.Rule.from_mapping(rule)
    if not _may_read_tables(rule):
        return []
    return exceptions.first_of(table_check.find_problems(rule, tables))


def _may_read_tables(rule: model.Rule) -> bool:
    # Most rules read none, and are not looked at more closely.
    content = [getattr(rule, name) for name in model.CONTENT]
    return effects.mentions(interpolation.TABLES, content)


def check(rule: model.Rule, in_force: repository.Snapshot) -> int | None:
    """Check what a rule reads of tables.

    :returns: the revision of the rule set that must still hold when the rule
        is stored, None if the rule reads no tables.
    :raises: InvalidRule if a table or a column is not there.
    """
    if not _may_read_tables(rule):
        return None
    missing = find_missing(rule, in_force.tables)
    if missing:
        raise exceptions.InvalidRule(missing)
    return in_force.revision
