# SPDX-License-Identifier: Apache-2.0

"""Stored tables of the rule set, in chunks of rows.

The rows of a table are stored in chunks of neighbours. Where a chunk ends is
decided by the keys of its rows: when a row is added, removed or changed, all
other chunks stay what they are (content-defined chunking). Tables and chunks
are kept from one revision to another, as rules are.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
import difflib
import hashlib
import json
from typing import Any, NamedTuple
import zlib

import sqlalchemy as sa
from sqlalchemy import orm

from ironic_inspection_rules.db import models
from ironic_inspection_rules.db import transaction

Pair = Sequence[Any]
"""The key of a row, and the row."""

_VERSIONS: Any = models.TableVersionRow.__table__
_CHUNKS: Any = models.TableChunkRow.__table__

_MEAN_ROWS = 64
"""Mean number of rows of a chunk."""

_MOST_ROWS = 512
_MOST_CHARACTERS = 65536
"""Limits at which a chunk ends, independent of its keys."""

_ENCODER = json.JSONEncoder(separators=(',', ':'))

_BATCH = 200
"""Maximum number of database rows that one statement reads or writes."""


class Chunk(NamedTuple):
    """Some neighboring rows of a table.

    ``pairs`` are the keys and the rows, ``text`` is their JSON, and ``digest``
    is the digest of the text, by which the chunk is stored.
    """

    digest: str
    text: str
    pairs: Sequence[Pair]


Stored = Sequence[str | None]
"""The digest of a chunk, and its text; None if it is already stored."""


def split(pairs: Iterable[Pair]) -> Iterator[Chunk]:
    """Yield the rows of a table in chunks, as they are stored.

    A chunk ends after a row if the checksum of its key is a multiple of
    :data:`_MEAN_ROWS`, or if the chunk is full. A new or changed row therefore
    changes a single chunk, and all other chunks stay the same. If this
    function were changed, it would split the same rows into other chunks, and
    all tables would be stored again.

    :param pairs: the keys of the rows, and the rows, in their order.
    """
    pairs_of_chunk: list[Pair] = []
    texts: list[str] = []
    characters = 0
    for pair in pairs:
        text = _ENCODER.encode(pair)
        pairs_of_chunk.append(pair)
        texts.append(text)
        characters += len(text)
        # Only the key of this row is considered, so that the end of a chunk
        # does not depend on the rows before it.
        key = pair[0]
        is_last_by_key = zlib.crc32(key.encode()) % _MEAN_ROWS == 0
        is_full = len(texts) >= _MOST_ROWS or characters >= _MOST_CHARACTERS
        if is_last_by_key or is_full:
            yield _make_chunk(texts, pairs_of_chunk)
            # Create new lists, because the chunk keeps the old ones.
            pairs_of_chunk = []
            texts = []
            characters = 0
    if texts:
        yield _make_chunk(texts, pairs_of_chunk)


def _make_chunk(texts: Sequence[str], pairs: Sequence[Pair]) -> Chunk:
    """Make the chunk of some rows, with a digest of its text.

    :param texts: the JSON texts of the pairs.
    :param pairs: the keys of the rows, and the rows.
    """
    # This is the text that the encoder would make of all pairs at once.
    text = f'[{",".join(texts)}]'
    hashed = hashlib.blake2b(text.encode(), digest_size=20)
    encoded = base64.urlsafe_b64encode(hashed.digest())
    digest = encoded.decode().rstrip('=')
    return Chunk(digest, text, pairs)


@transaction.retried_on_lock_conflict
def list_tables(revision: int | None = None) -> list[dict[str, Any]]:
    """Read all tables without their rows, sorted by name.

    :param revision: the revision of the rule set; None for the tables in
        force.
    :returns: mappings with the ``name`` of a table, the ``revision`` that last
        changed it, its ``size`` and its ``definition``.
    """
    query = (
        sa.select(_VERSIONS)
        .where(*_in_force(_VERSIONS, revision))
        .order_by(_VERSIONS.c.name)
    )
    tables = []
    with transaction.reader() as session:
        for row in session.execute(query):
            tables.append(
                {
                    'name': row.name,
                    'revision': row.table_revision,
                    'size': row.size,
                    'definition': row.definition,
                }
            )
    return tables


@transaction.retried_on_lock_conflict
def list_digests(name: str, revision: int | None = None) -> list[str]:
    """Read the digests of the chunks of a table, in the order of its rows.

    :param revision: the revision of the rule set; None for the table in force.
    """
    query = sa.select(_CHUNKS.c.digest)
    query = query.where(_CHUNKS.c.name == name, *_in_force(_CHUNKS, revision))
    query = query.order_by(_CHUNKS.c.position)
    with transaction.reader() as session:
        return list(session.execute(query).scalars())


def read_chunks(
    name: str, digests: Sequence[str], revision: int | None = None
) -> dict[str, list[Pair]]:
    """Read the rows of some chunks of a table.

    :param digests: digests from :func:`list_digests`.
    :param revision: the revision that had the chunks; None for the chunks in
        force.
    :returns: pairs of key and row, by the digest of the chunk. A chunk that
        was replaced after its digest was read is missing.
    """
    chunks: dict[str, list[Pair]] = {}
    for part in transaction.chunks(digests, _BATCH):
        query = sa.select(_CHUNKS.c.digest, _CHUNKS.c.data)
        # Compare the name as well, because another table may have the same
        # chunks.
        query = query.where(
            _CHUNKS.c.name == name,
            _CHUNKS.c.digest.in_(part),
            *_in_force(_CHUNKS, revision),
        )
        for row in transaction.read_rows(query):
            text = zlib.decompress(row['data'])
            chunks[row['digest']] = json.loads(text)
    return chunks


def put(
    session: orm.Session,
    revision: int,
    name: str,
    definition: Mapping[str, Any],
    size: int,
    chunks: Sequence[Stored],
) -> str | None:
    """Store a table for a new revision, if it has changed.

    Database rows that are no longer in force are not deleted, because earlier
    revisions have them: they end with this revision.

    :param revision: the number of the new revision.
    :param definition: the table without its rows.
    :param size: the number of its rows.
    :param chunks: all chunks of the table, in order; a chunk without its text
        must be in force in this table.
    :returns: ``created`` or ``updated``; None if nothing has changed.
    """
    definition_before = session.execute(
        sa.select(_VERSIONS.c.definition).where(
            _VERSIONS.c.name == name, _VERSIONS.c.end_revision.is_(None)
        )
    ).scalar_one_or_none()
    have_rows_changed = _put_chunks(session, revision, name, chunks)
    if definition_before == definition and not have_rows_changed:
        return None
    _end_rows(session, _VERSIONS, revision, _VERSIONS.c.name == name)
    session.execute(
        sa.insert(_VERSIONS),
        [
            {
                'name': name,
                'first_revision': revision,
                'end_revision': None,
                'table_revision': revision,
                'size': size,
                'definition': definition,
            }
        ],
    )
    if definition_before is None:
        return 'created'
    return 'updated'


def remove(session: orm.Session, revision: int, name: str) -> bool:
    """Remove a table from the rule set, and return whether it existed.

    It stays stored for earlier revisions until :func:`forget` deletes it.

    :param revision: the first revision that does not have the table.
    """
    ended = _end_rows(session, _VERSIONS, revision, _VERSIONS.c.name == name)
    _end_rows(session, _CHUNKS, revision, _CHUNKS.c.name == name)
    return bool(ended)


def forget(session: orm.Session, oldest: int) -> None:
    """Delete rows that no kept revision has.

    :param oldest: the oldest revision that is kept.
    """
    for table in (_VERSIONS, _CHUNKS):
        session.execute(sa.delete(table).where(table.c.end_revision <= oldest))


def _put_chunks(
    session: orm.Session, revision: int, name: str, chunks: Sequence[Stored]
) -> bool:
    """Store the chunks of a table, and return whether any has changed.

    Only new and moved chunks are written. If there is no position left for a
    new chunk between two others, all chunks are written. The database rows of
    moved and removed chunks end with this revision.

    :param chunks: pairs of digest and text, in order; the text is None for a
        chunk that the table already has.
    """
    rows_before = session.execute(
        sa.select(_CHUNKS.c.id, _CHUNKS.c.position, _CHUNKS.c.digest)
        .where(_CHUNKS.c.name == name, _CHUNKS.c.end_revision.is_(None))
        .order_by(_CHUNKS.c.position)
    ).all()
    staying = _find_staying_rows(rows_before, chunks)
    if len(staying) == len(rows_before) == len(chunks):
        # No chunk is new, gone or moved.
        return False
    # New chunks get positions between those of the chunks that stay, so that a
    # change of one row of the table writes only one chunk.
    known_positions: list[float | None] = [None] * len(chunks)
    for number, row in staying.items():
        known_positions[number] = row.position
    positions = _fill_positions(known_positions)
    if positions is None:
        # There is no position left: all chunks get new ones, so none may stay.
        staying = {}
        positions = [float(number) for number in range(len(chunks))]
    new_rows = []
    for number, (digest, text) in enumerate(chunks):
        if number not in staying:
            new_rows.append(
                {
                    'name': name,
                    'first_revision': revision,
                    'end_revision': None,
                    'position': positions[number],
                    'digest': digest,
                    'text': text,
                }
            )
    staying_ids = {row.id for row in staying.values()}
    ended_ids = [row.id for row in rows_before if row.id not in staying_ids]
    for part in transaction.chunks(new_rows, _BATCH):
        session.execute(
            sa.insert(_CHUNKS), _compress_texts(session, name, part)
        )
    # End old rows only now, because the data of moved chunks were copied from
    # their old rows above.
    for part in transaction.chunks(ended_ids, _BATCH):
        _end_rows(session, _CHUNKS, revision, _CHUNKS.c.id.in_(part))
    return True


def _find_staying_rows(
    rows: Sequence[Any], chunks: Sequence[Stored]
) -> dict[int, Any]:
    """Find the rows of the stored table that need no change.

    Chunks keep their rows if their order stays the same. A chunk that has
    moved is written again, because its position is a column of its row.

    :param rows: database rows of all chunks of the stored table, in order.
    :param chunks: the chunks that the table will have, in order.
    :returns: rows by the index of the chunk in ``chunks``.
    """
    matcher = difflib.SequenceMatcher(
        None,
        [row.digest for row in rows],
        [digest for digest, _text in chunks],
        # Without this, difflib ignores digests that occur many times.
        autojunk=False,
    )
    staying = {}
    for first_row, first_chunk, length in matcher.get_matching_blocks():
        for offset in range(length):
            staying[first_chunk + offset] = rows[first_row + offset]
    return staying


def _compress_texts(
    session: orm.Session, name: str, rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return rows of chunks with compressed data instead of their texts.

    A chunk without a text has only a new position. Its data are copied from
    its old row, so that the client does not need to send them again.

    :param rows: the rows to insert, with a ``text`` that may be None.
    """
    digests_to_copy = [row['digest'] for row in rows if row['text'] is None]
    stored_data = {}
    if digests_to_copy:
        query = sa.select(_CHUNKS.c.digest, _CHUNKS.c.data).where(
            _CHUNKS.c.name == name,
            _CHUNKS.c.digest.in_(digests_to_copy),
            _CHUNKS.c.end_revision.is_(None),
        )
        stored_data = dict(session.execute(query).tuples().all())
    rows_with_data = []
    for row in rows:
        columns = dict(row)
        text = columns.pop('text')
        if text is None:
            columns['data'] = stored_data[row['digest']]
        else:
            columns['data'] = zlib.compress(text.encode())
        rows_with_data.append(columns)
    return rows_with_data


def _fill_positions(positions: Sequence[float | None]) -> list[float] | None:
    """Fill in rising positions between the known positions.

    ``[None, 1.0, None, 2.0, None]`` becomes ``[0.0, 1.0, 1.5, 2.0, 3.0]``: new
    positions divide the interval between their neighbors evenly. Before the
    first and after the last known position, the distance is 1.

    :param positions: known positions; None for new positions.
    :returns: all positions; None if two known positions are so close that no
        floating-point numbers are left between them.
    """
    filled: list[float] = []
    # Number of new positions since the last known one.
    count_of_new = 0
    for position in positions:
        if position is None:
            count_of_new += 1
            continue
        if filled:
            low = filled[-1]
        else:
            # Choose the distance before the first known position to be 1.
            low = position - (count_of_new + 1)
        width = (position - low) / (count_of_new + 1)
        for number in range(1, count_of_new + 1):
            filled.append(low + width * number)
        filled.append(position)
        count_of_new = 0
    # If there is no known position, the first new one is 0.0.
    last_known = -1.0
    if filled:
        last_known = filled[-1]
    filled += [last_known + number for number in range(1, count_of_new + 1)]
    for position, next_position in zip(filled, filled[1:], strict=False):
        if position >= next_position:
            return None
    return filled


def _end_rows(
    session: orm.Session, table: Any, revision: int, condition: Any
) -> int:
    """End database rows that are in force.

    :param table: the database table.
    :param revision: the first revision that does not have the rows.
    :param condition: the SQL condition of the rows.
    :returns: number of rows that were ended.
    """
    result: Any = session.execute(
        sa.update(table)
        .where(condition, table.c.end_revision.is_(None))
        .values(end_revision=revision)
    )
    return int(result.rowcount)


def _in_force(table: Any, revision: int | None) -> list[Any]:
    """Return the SQL conditions of rows that a revision has.

    :param revision: the revision; None for the rows that are in force now.
    """
    if revision is None:
        return [table.c.end_revision.is_(None)]
    return [
        table.c.first_revision <= revision,
        sa.or_(
            table.c.end_revision.is_(None), table.c.end_revision > revision
        ),
    ]
