# SPDX-License-Identifier: Apache-2.0

"""Tables that are posted together with rules, which look rows up in them.

A table is e.g. the rack of every serial number: ``{'racks': {'key': 'serial',
'rows': [{'serial': 'SN1', 'rack': 'r1'}, …]}}``. Some columns may be secret.
Tables are stored together with the rules, or built-in: read from a file.

In the database, a few neighboring rows are stored as one *chunk*, by the
digest of their content. If a large table changes in a few rows, only a few
chunks are new. A *plan* says what happens to every table; storing it is a
separate step.
"""

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
class TablePlan:
    """The plan of a change of the tables, which is not stored yet.

    ``steps``
        What happens to every table that is created, compared or deleted.
    ``tables``
        All tables after the change, including the built-in ones.
    ``stored``
        The tables that are stored before the change.
    """

    steps: Sequence[table_change.Step]
    tables: table.Tables
    stored: Mapping[str, table_store.StoredTable] = dataclasses.field(
        default_factory=dict
    )

    def changes_to_store(self) -> list[dict[str, Any]]:
        """Return the tables that change, for :meth:`.StoredRule.change`.

        For example, ``[{'name': 'racks', 'rows': {'new': 1, 'changed': 0,
        'gone': 0}, 'definition': {…}, 'size': 40, 'chunks': […]}]``. For a
        deleted table, the definition is None, and ``size`` and ``chunks`` are
        missing.
        """
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

    A chunk that is already stored gets no text, because the texts of all
    chunks would take as much memory as the rows.

    :param stored_table: the table that the new one replaces, if any.
    :returns: a pair for every chunk, in order: its digest and its text, e.g.
        ``['9f2c…', '[["SN1", …]]']``. The text is None if the chunk is already
        stored.
    """
    stored_digests = _list_digests(stored_table)
    chunks: list[db_table.Stored] = []
    for chunk in db_table.split(new_table.pairs):
        if chunk.digest in stored_digests:
            chunks.append([chunk.digest, None])
        else:
            chunks.append([chunk.digest, chunk.text])
    return chunks


def _list_digests(
    stored_table: table_store.StoredTable | None,
) -> Collection[str]:
    """Return the digests of the chunks of a stored table, in their order."""
    if stored_table is None:
        return ()
    return stored_table.chunks.keys()


def decide(
    posted: Any,
    prune: bool,
    in_force: repository.Snapshot,
    built_in: table.Tables,
) -> TablePlan:
    """Decide what happens to the stored tables when tables are posted.

    The posted tables are checked first.

    :param posted: the JSON form of tables by name; None keeps all stored
        tables, regardless of ``prune``.
    :param prune: whether stored tables that were not posted are deleted.
    :param in_force: the rules and tables that are stored now.
    :param built_in: the tables of the built-in file, which no request changes.
    :raises: InvalidTables with the places of all problems.
    """
    if posted is None:
        return TablePlan((), in_force.tables)
    _refuse_built_in(posted, built_in)
    given = _read(posted, in_force.stored_tables)
    return _decide(given, prune, in_force.stored_tables, built_in)


def decide_restored(
    of_revision: table.Tables,
    in_force: repository.Snapshot,
    built_in: table.Tables,
) -> TablePlan:
    """Decide what happens to the stored tables when a revision is restored.

    Stored tables that the revision does not have are deleted.

    :param of_revision: the tables of the revision, with their secrets.
    :param in_force: the tables that are stored now.
    :param built_in: the tables of the built-in file, which no request changes.
    :raises: InvalidTables if the built-in file now has one of these tables.
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
) -> TablePlan:
    """Decide which tables to create, change, delete and keep.

    Every given table replaces the stored table with its name, if there is one.
    Other stored tables are deleted with ``prune``, and kept without it.

    :param given: the tables that were posted, or the tables of a revision.
    """
    steps = []
    for name, given_table in given.items():
        steps.append(_compare(name, stored.get(name), given_table))
    tables_afterwards = dict(given)
    for name, stored_table in stored.items():
        if name in given:
            continue
        if prune:
            steps.append(_compare(name, before=stored_table, after=None))
        else:
            # The table is kept, which needs no step.
            tables_afterwards[name] = stored_table.table
    return TablePlan(steps, {**tables_afterwards, **built_in}, stored)


def _refuse_built_in(given: Any, built_in: table.Tables) -> None:
    """Raise an error if a given table has the name of a built-in one.

    :param given: tables by name. Any other posted value is ignored, because it
        is refused later.
    :raises: InvalidTables with all of these names.
    """
    if not isinstance(given, Mapping):
        # table_form.read_all() refuses this value.
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
    """Read posted tables from their JSON form.

    A table that a client has read from the API has no secret columns. If the
    client posts it again, these are taken from the row with the same key in
    the stored table.

    :raises: InvalidTables if a table is not valid.
    """
    tables = table_form.read_all(posted)
    for name, posted_table in tables.items():
        if name not in stored:
            continue
        # None if no row gets a secret back.
        rows_with_secrets = table_change.with_kept_secrets(
            posted_table, stored[name].table
        )
        if rows_with_secrets is not None:
            # Check the table again, because the posted definition may have
            # given a secret column a type that the stored values do not have.
            definition = posted_table.definition.as_dict()
            tables[name] = table_form.read(
                name, {**definition, 'rows': rows_with_secrets}
            )
    return tables


def _compare(
    name: str,
    before: table_store.StoredTable | None,
    after: table.Table | None,
) -> table_change.Step:
    """Return what happens to a table, and which rows differ.

    Chunks with the same digest have the same rows. Therefore only the rows of
    chunks that one of the tables does not have are compared. They are few even
    if the table is large.

    :param before: the stored table; None if the table is new.
    :param after: the table that replaces it; None if the table is removed.
    """
    digests_before = _list_digests(before)
    # Use a dict, because it keeps the order of the chunks, unlike a set.
    digests_after: dict[str, None] = {}
    # A row that does not change may be in both lists: if one row changes, all
    # rows of its chunk get into a new chunk.
    rows_of_old_chunks: list[db_table.Pair] = []
    rows_of_new_chunks: list[db_table.Pair] = []
    definition_before = None
    definition_after = None
    if after is not None:
        definition_after = after.definition
        for chunk in db_table.split(after.pairs):
            digests_after[chunk.digest] = None
            if chunk.digest not in digests_before:
                rows_of_new_chunks += chunk.pairs
    if before is not None:
        definition_before = before.table.definition
        for digest in digests_before:
            if digest not in digests_after:
                rows_of_old_chunks += before.pairs(digest)
    has_other_columns = False
    if before is not None and after is not None:
        has_other_columns = before.table.columns != after.columns
    has_other_rows = list(digests_before) != list(digests_after)
    return table_change.Step(
        name,
        before=definition_before,
        after=definition_after,
        difference=table_change.compare(
            before=rows_of_old_chunks, after=rows_of_new_chunks
        ),
        moved=has_other_rows or has_other_columns,
    )


def find_missing(
    fields: Mapping[str, Any] | model.Rule, tables: table.Tables
) -> list[exceptions.Problem]:
    """Return the problems of a rule that reads missing tables or columns.

    For example, ``{tables.racks[SN1].height}`` is a problem without a table
    ``racks``, or without the column ``height`` in it.

    :param fields: a valid rule, or its fields.
    """
    rule = fields
    if not isinstance(rule, model.Rule):
        rule = model.Rule.from_mapping(rule)
    if not _may_read_tables(rule):
        return []
    return exceptions.limit_problems(table_check.find_problems(rule, tables))


def _may_read_tables(rule: model.Rule) -> bool:
    """Return whether a rule may contain a field such as ``{tables.racks}``.

    This only looks for the word "tables" in the texts of the rule, which is
    faster than parsing them. Most rules do not contain it.
    """
    content = [getattr(rule, name) for name in model.CONTENT]
    return effects.mentions(interpolation.TABLES, content)


def check(rule: model.Rule, in_force: repository.Snapshot) -> int | None:
    """Check that the tables and columns that a single posted rule reads exist.

    :param in_force: the rules and tables that are stored now.
    :returns: the revision of ``in_force``. The caller stores the rule only if
        this still is the revision of the rule set, because the tables may have
        changed otherwise. None if the rule reads no tables.
    :raises: InvalidRule if a table or a column does not exist.
    """
    if not _may_read_tables(rule):
        return None
    missing = find_missing(rule, in_force.tables)
    if missing:
        raise exceptions.InvalidRule(missing)
    return in_force.revision
