# SPDX-License-Identifier: Apache-2.0

"""Stored tables of the rule set, in chunks of rows.

A table maps keys to rows, e.g. models of machines to their traits. Here it is
a sequence of *pairs* of key and row, in order::

    ['R640', {'trait': 'CUSTOM_A'}], ['R650', {'trait': 'CUSTOM_B'}], …

A *chunk* contains some neighboring pairs, and is one row of the database. Its
*digest* is a hash of its JSON text. The keys of the rows decide where a chunk
ends, so that a change of one row leaves all other chunks the same
(content-defined chunking).

A change of the rule set makes a *revision*. Chunks are never changed: a row of
the database is *in force* from its ``first_revision`` until its
``end_revision``, which is null while the row is in force now. A table itself
has rows of the same kind, with its *definition*: all that is not in its rows.
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
"""The key of a row, and the row: ``['R640', {'trait': 'CUSTOM_A'}]``."""

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
"""The digest and the text of a chunk to store.

The text is None if the table already has the chunk.
"""


def split(pairs: Iterable[Pair]) -> Iterator[Chunk]:
    """Split the rows of a table into chunks.

    A chunk ends after a row if the checksum of its key is a multiple of
    :data:`_MEAN_ROWS`, or if the chunk is full. If this function is changed,
    it splits the same rows into other chunks, and all tables are stored again.

    :param pairs: all pairs of key and row, in their order.
    """
    pairs_of_chunk: list[Pair] = []
    texts: list[str] = []
    characters = 0
    for pair in pairs:
        text = _ENCODER.encode(pair)
        pairs_of_chunk.append(pair)
        texts.append(text)
        characters += len(text)
        # The end of a chunk depends on the key of this row, not on the number
        # of rows before it. After a row is inserted, the following chunks
        # therefore begin with the same rows as before.
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
    """Build a chunk from its rows, and compute its digest.

    :param texts: the JSON text of every pair.
    :param pairs: the pairs of key and row.
    """
    # This is the same text as the JSON of the list of all pairs.
    text = f'[{",".join(texts)}]'
    hashed = hashlib.blake2b(text.encode(), digest_size=20)
    encoded = base64.urlsafe_b64encode(hashed.digest())
    digest = encoded.decode().rstrip('=')
    return Chunk(digest, text, pairs)


@transaction.retried_on_lock_conflict
def list_tables(revision: int | None = None) -> list[dict[str, Any]]:
    """Read all tables without their rows, sorted by name.

    :param revision: the revision of the rule set; None for the tables that are
        in force now.
    :returns: for every table its ``name``, the ``revision`` that last changed
        it, its number of rows as ``size``, and its ``definition``.
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

    The caller then reads only the chunks that it does not have in memory.

    :param name: the name of the table.
    :param revision: the revision of the rule set; None for the table that is
        in force now.
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

    :param name: the name of the table.
    :param digests: digests from :func:`list_digests`.
    :param revision: the revision that had the chunks; None for the chunks that
        are in force now.
    :returns: pairs of key and row, by the digest of the chunk. A chunk that
        was replaced after its digest was read is missing.
    """
    pairs_by_digest: dict[str, list[Pair]] = {}
    for some_digests in transaction.chunks(digests, _BATCH):
        query = sa.select(_CHUNKS.c.digest, _CHUNKS.c.data)
        # Compare the name as well, because another table may have the same
        # chunks.
        query = query.where(
            _CHUNKS.c.name == name,
            _CHUNKS.c.digest.in_(some_digests),
            *_in_force(_CHUNKS, revision),
        )
        for row in transaction.read_rows(query):
            text = zlib.decompress(row['data'])
            pairs_by_digest[row['digest']] = json.loads(text)
    return pairs_by_digest


def put(
    session: orm.Session,
    revision: int,
    name: str,
    definition: Mapping[str, Any],
    size: int,
    chunks: Sequence[Stored],
) -> str | None:
    """Store a table for a new revision, if it has changed.

    Earlier revisions keep the previous rows of the database, which end with
    the new revision.

    :param revision: the number of the new revision.
    :param name: the name of the table.
    :param definition: the table without its rows.
    :param size: the number of its rows.
    :param chunks: all chunks of the table, in order. A chunk without its text
        must be in force in this table.
    :returns: ``created`` or ``updated``; None if nothing has changed.
    """
    # None if there is no table of this name.
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
    count_of_ended = _end_rows(
        session, _VERSIONS, revision, _VERSIONS.c.name == name
    )
    _end_rows(session, _CHUNKS, revision, _CHUNKS.c.name == name)
    return count_of_ended > 0


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

    Compared with the chunks of the stored table, a chunk

    - stays in the same order: nothing is written;
    - is new: its row is inserted;
    - is gone: its row ends with the new revision;
    - has moved: its old row ends, and a new row is inserted.

    Chunks are sorted by ``position``, a number. If there is no number left for
    a new chunk between two others, all chunks are inserted again.

    :param revision: the number of the new revision.
    :param name: the name of the table.
    :param chunks: all chunks of the table, in order.
    """
    rows_before = session.execute(
        sa.select(_CHUNKS.c.id, _CHUNKS.c.position, _CHUNKS.c.digest)
        .where(_CHUNKS.c.name == name, _CHUNKS.c.end_revision.is_(None))
        .order_by(_CHUNKS.c.position)
    ).all()
    staying_rows = _find_staying_rows(rows_before, chunks)
    if len(staying_rows) == len(rows_before) == len(chunks):
        # All chunks stay.
        return False
    # The chunks that stay keep their positions. The others get positions
    # between them, so that a change of one row writes only one chunk.
    known_positions: list[float | None] = [None] * len(chunks)
    for index, row in staying_rows.items():
        known_positions[index] = row.position
    positions = _fill_positions(known_positions)
    if positions is None:
        # There is no number left between two chunks. All chunks get new
        # positions, so none stays.
        staying_rows = {}
        positions = [float(index) for index in range(len(chunks))]
    new_rows = []
    for index, (digest, text) in enumerate(chunks):
        if index not in staying_rows:
            new_rows.append(
                {
                    'name': name,
                    'first_revision': revision,
                    'end_revision': None,
                    'position': positions[index],
                    'digest': digest,
                    'text': text,
                }
            )
    staying_ids = {row.id for row in staying_rows.values()}
    ended_ids = [row.id for row in rows_before if row.id not in staying_ids]
    for some_rows in transaction.chunks(new_rows, _BATCH):
        compressed_rows = _compress_texts(session, name, some_rows)
        session.execute(sa.insert(_CHUNKS), compressed_rows)
    # End old rows only now, because _compress_texts() has copied the data of
    # moved chunks from their old rows.
    for some_ids in transaction.chunks(ended_ids, _BATCH):
        _end_rows(session, _CHUNKS, revision, _CHUNKS.c.id.in_(some_ids))
    return True


def _find_staying_rows(
    rows: Sequence[Any], chunks: Sequence[Stored]
) -> dict[int, Any]:
    """Find the chunks that stay in the same order, and their stored rows.

    If the stored chunks are A, B and C, and the table will have the chunks A,
    X and C, the result is ``{0: row of A, 2: row of C}``.

    :param rows: database rows of all chunks of the stored table, in order.
    :param chunks: the chunks that the table will have, in order.
    :returns: stored rows, by the index of the chunk in ``chunks``.
    """
    matcher = difflib.SequenceMatcher(
        None,
        [row.digest for row in rows],
        [digest for digest, _text in chunks],
        # Without this, difflib ignores digests that occur many times.
        autojunk=False,
    )
    staying_rows = {}
    # A block is a run of chunks that both have in the same order.
    for first_row, first_chunk, length in matcher.get_matching_blocks():
        for offset in range(length):
            staying_rows[first_chunk + offset] = rows[first_row + offset]
    return staying_rows


def _compress_texts(
    session: orm.Session, name: str, rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return rows of chunks with compressed ``data`` instead of ``text``.

    If the text is None, the table already has the chunk, at another position.
    Its data are then copied from its old row.

    :param name: the name of the table.
    :param rows: column values of the rows to insert, except ``data``; and
        ``text``, which may be None.
    """
    digests_to_copy = [row['digest'] for row in rows if row['text'] is None]
    data_by_digest = {}
    if digests_to_copy:
        query = sa.select(_CHUNKS.c.digest, _CHUNKS.c.data).where(
            _CHUNKS.c.name == name,
            _CHUNKS.c.digest.in_(digests_to_copy),
            _CHUNKS.c.end_revision.is_(None),
        )
        data_by_digest = dict(session.execute(query).tuples().all())
    rows_with_data = []
    for row in rows:
        columns = dict(row)
        text = columns.pop('text')
        if text is None:
            columns['data'] = data_by_digest[row['digest']]
        else:
            columns['data'] = zlib.compress(text.encode())
        rows_with_data.append(columns)
    return rows_with_data


def _fill_positions(positions: Sequence[float | None]) -> list[float] | None:
    """Replace every None in a list of positions by a number, in rising order.

    ``[None, 1.0, None, 2.0, None]`` becomes ``[0.0, 1.0, 1.5, 2.0, 3.0]``. New
    positions between two known positions have equal distances. Before the
    first and after the last known position, the distance is 1.

    :param positions: known positions, in rising order; None for new positions.
    :returns: all positions; None if two known positions are so close that no
        floating-point numbers are left between them.
    """
    filled: list[float] = []
    # Number of new positions since the last known position.
    count_of_new = 0
    for position in positions:
        if position is None:
            count_of_new += 1
            continue
        # Insert the new positions before this known position.
        if filled:
            low = filled[-1]
        else:
            # There is no known position before. With this one, the distance
            # would be 1.
            low = position - (count_of_new + 1)
        distance = (position - low) / (count_of_new + 1)
        filled += _count_from(low, distance, count_of_new)
        filled.append(position)
        count_of_new = 0
    # Append the new positions after the last known position. If none is known,
    # the first new position is 0.
    last_known = -1.0
    if filled:
        last_known = filled[-1]
    filled += _count_from(last_known, 1.0, count_of_new)
    # The distances may have been rounded to 0.
    for position, next_position in zip(filled, filled[1:], strict=False):
        if position >= next_position:
            return None
    return filled


def _count_from(low: float, distance: float, count: int) -> list[float]:
    """Return positions above a position, with equal distances between them."""
    return [low + distance * number for number in range(1, count + 1)]


def _end_rows(
    session: orm.Session, table: Any, revision: int, condition: Any
) -> int:
    """Make database rows end with a revision, if they are in force now.

    :param table: the database table.
    :param revision: the first revision that does not have the rows.
    :param condition: the SQL condition of the rows.
    :returns: number of rows that were changed.
    """
    result: Any = session.execute(
        sa.update(table)
        .where(condition, table.c.end_revision.is_(None))
        .values(end_revision=revision)
    )
    return int(result.rowcount)


def _in_force(table: Any, revision: int | None) -> list[Any]:
    """Return the SQL conditions of rows that are in force in a revision.

    :param table: the database table.
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
