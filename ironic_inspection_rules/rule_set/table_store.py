# SPDX-License-Identifier: Apache-2.0

"""The stored tables in the memory of this process.

A table is stored as chunks. A chunk is several consecutive rows, which are
stored by the digest of their content. A revision of a table is a list of
digests, so revisions share the chunks that have not changed::

    revision 16: 9f2c…, 77b5…, 01ee…
    revision 17: 9f2c…, a3d0…, 01ee…

When a table has changed, its digests are read, and then only the chunks that
are not in memory yet.
"""

import dataclasses
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import table
from ironic_inspection_rules.engine.language import text_cache
from ironic_inspection_rules.i18n import _

Pairs = typing.Sequence[tuple[str, table.Row]]
"""Rows with their keys."""

StoredPairs = typing.Sequence[typing.Sequence[typing.Any]]
"""Rows with their keys, in the form in which RPC and databases return them."""

Described = dict[str, typing.Any]
"""A table without its rows: ``{'name': …, 'revision': 17, 'definition':
{…}}``."""

_CHUNKS_PER_CALL = 100
"""Number of chunks that one call of the source reads."""


class Source(typing.Protocol):
    """Reads tables from a database or by RPC, see :class:`.RuleTable`.

    ``context`` is Ironic's context of a request. ``revision`` is the revision
    of the rule set, or None for the newest.
    """

    def list_plain(
        self, context: typing.Any, revision: int | None = None
    ) -> list[Described]:
        """Read all tables without their rows."""

    def list_digests(
        self, context: typing.Any, name: str, revision: int | None = None
    ) -> list[str]:
        """Read the digests of the chunks of a table, in order."""

    def read_chunks(
        self,
        context: typing.Any,
        name: str,
        digests: typing.Sequence[str],
        revision: int | None = None,
    ) -> dict[str, StoredPairs]:
        """Read pairs of key and row, by the digest of their chunk."""


@dataclasses.dataclass(frozen=True, slots=True)
class StoredTable:
    """A table, the revision that last changed it, and its keys by chunk.

    ``chunks`` has the keys of the rows of each chunk, by the chunk's digest.
    """

    table: table.Table
    revision: int
    chunks: typing.Mapping[str, typing.Sequence[str]]

    def pairs(self, digest: str) -> Pairs:
        """Return the rows of a chunk with their keys: ``[('SN1', {…})]``."""
        return [(key, self.table.row(key)) for key in self.chunks[digest]]


class TableStore:
    """Reads the stored tables, and keeps the newest tables in memory."""

    def __init__(self, source: Source) -> None:
        self._source = source
        # The last result of refresh(): the tables by name.
        self._newest: dict[str, StoredTable] = {}

    def refresh(self, context: typing.Any) -> dict[str, StoredTable]:
        """Return the newest tables, and read only tables that have changed.

        The caller must ensure that only one thread calls this at a time.

        :returns: the tables by name.
        :raises: :class:`.exceptions.Conflict` if another change replaced rows
            in the meantime.
        """
        tables = {}
        for described in self._source.list_plain(context):
            # This takes unchanged rows from the previous tables, so these are
            # only replaced at the end.
            tables[described['name']] = self._read_table(
                context, described, revision=None
            )
        self._newest = tables
        return self._newest

    def read_revision(
        self, context: typing.Any, revision: int
    ) -> dict[str, table.Table]:
        """Return the tables of a revision, which are not kept in memory.

        They are needed to show or restore the revision, and to evaluate its
        rules again. Rows that the newest tables have too are taken from these.

        :returns: the tables by name.
        :raises: :class:`.exceptions.Conflict` if another change replaced rows
            in the meantime.
        """
        tables = {}
        for described in self._source.list_plain(context, revision):
            stored = self._read_table(context, described, revision)
            tables[described['name']] = stored.table
        return tables

    def _read_table(
        self, context: typing.Any, described: Described, revision: int | None
    ) -> StoredTable:
        """Return a table with its rows, and read only changed rows.

        :param described: the table without its rows, as the source returned
            it.
        :param revision: the revision of the rule set, None for the newest.
        :raises: :class:`.exceptions.Conflict` if another change replaced rows
            in the meantime.
        """
        name = described['name']
        newest = self._newest.get(name)
        # This is the revision that last changed the table.
        if newest is not None and newest.revision == described['revision']:
            return newest
        chunks = read_chunks(self._source, context, name, revision, newest)
        rows_by_key: dict[str, table.Row] = {}
        keys_by_digest = {}
        for digest, pairs in chunks.items():
            keys_by_digest[digest] = tuple(key for key, _row in pairs)
            rows_by_key.update(pairs)
        definition = described['definition']
        # The rows need no check, because they were checked before storing.
        built = table.Table(
            definition_of(name, definition), rows_by_key, definition['columns']
        )
        return StoredTable(built, described['revision'], keys_by_digest)


def read_chunks(
    source: Source,
    context: typing.Any,
    name: str,
    revision: int | None = None,
    kept: StoredTable | None = None,
) -> dict[str, Pairs]:
    """Return the rows of a table, by chunk and in order.

    A chunk is several consecutive rows, which are stored by the digest of
    their content. Only the chunks that are not in memory are read.

    :param name: the name of the table.
    :param revision: the revision of the rule set, None for the newest.
    :param kept: another revision of the table, which is in memory; None if
        there is none.
    :returns: the rows with their keys, by the digest of their chunk:
        ``{'9f2c…': [('SN1', {…}), ('SN2', {…})]}``.
    :raises: :class:`.exceptions.Conflict` if another change replaced some
        chunks in the meantime.
    """
    digests = source.list_digests(context, name, revision)
    digests_in_memory: typing.Collection[str] = ()
    if kept is not None:
        digests_in_memory = kept.chunks.keys()
    new_digests = [
        digest for digest in digests if digest not in digests_in_memory
    ]
    new_chunks = _read_new_chunks(source, context, name, revision, new_digests)
    # Several queries read the digests and the rows. Between the queries,
    # another process may have replaced rows. Then some chunks are not found.
    if len(new_chunks) < len(new_digests):
        raise exceptions.Conflict(
            _('Inspection table %s was changed meanwhile.') % name
        )
    chunks = {}
    for digest in digests:
        if kept is not None and digest in digests_in_memory:
            chunks[digest] = kept.pairs(digest)
        else:
            chunks[digest] = new_chunks[digest]
    return chunks


def _read_new_chunks(
    source: Source,
    context: typing.Any,
    name: str,
    revision: int | None,
    digests: typing.Sequence[str],
) -> dict[str, Pairs]:
    """Read chunks from the source, by their digests.

    :param name: the name of the table.
    :param revision: the revision that has the chunks; None for the newest.
    :returns: the rows with their keys, by digest: ``{'9f2c…': [('SN1', {…}),
        …]}``. Chunks that the source no longer has are missing.
    """
    chunks: dict[str, Pairs] = {}
    # Many rows have the same texts. This makes equal texts the same string,
    # which saves memory.
    equal_texts = text_cache.TextInterner()
    for start in range(0, len(digests), _CHUNKS_PER_CALL):
        digests_of_call = digests[start : start + _CHUNKS_PER_CALL]
        stored_chunks = source.read_chunks(
            context, name, digests_of_call, revision
        )
        for digest, pairs in stored_chunks.items():
            chunks[digest] = [
                (key, equal_texts.build_mapping(row.items()))
                for key, row in pairs
            ]
    return chunks


def definition_to_store(stored_table: table.Table) -> Described:
    """Return the stored form of a table's definition, with its columns."""
    definition = stored_table.definition.as_dict()
    return {**definition, 'columns': list(stored_table.columns)}


def definition_of(name: str, definition: Described) -> table.TableDefinition:
    """Return the definition that :func:`definition_to_store` has converted."""
    return table.TableDefinition(
        name,
        key=definition['key'],
        of=definition['of'],
        types=definition['types'],
        secret=tuple(definition['secret']),
        expect=definition['expect'],
    )
