# SPDX-License-Identifier: Apache-2.0

"""The tables of the rule set, and what they were.

The rows of a table are stored in chunks of neighbours. Where a chunk ends is
decided by the keys of its rows: when a row is added, removed or changed, all
other chunks stay what they are. Tables and chunks are kept from one revision
to another, as rules are.
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

_VERSIONS: Any = models.TableVersion.__table__
_CHUNKS: Any = models.TableChunk.__table__

_MEAN_ROWS = 64
"""Mean number of rows of a chunk."""

_MOST_ROWS = 512
_MOST_CHARACTERS = 65536
"""Where a chunk ends at the latest, whatever its keys are."""

_ENCODER = json.JSONEncoder(separators=(',', ':'))

_BATCH = 200
"""How many rows of the database one statement reads or writes at most."""


class Chunk(NamedTuple):
    """Some neighbouring rows; ``text`` is the JSON of their pairs."""

    digest: str
    text: str
    pairs: Sequence[Pair]


Stored = Sequence[str | None]
"""The digest of a chunk, and its text: None for one that is stored."""


def split(pairs: Iterable[Pair]) -> Iterator[Chunk]:
    """Split the rows of a table into chunks.

    What is stored depends on every step here: rows that are split in another
    way are stored once more.
    """
    inside: list[Pair] = []
    texts: list[str] = []
    characters = 0
    for pair in pairs:
        text = _ENCODER.encode(pair)
        inside.append(pair)
        texts.append(text)
        characters += len(text)
        ends = zlib.crc32(pair[0].encode()) % _MEAN_ROWS == 0
        if ends or len(texts) >= _MOST_ROWS or (
                characters >= _MOST_CHARACTERS):
            yield _chunk(texts, inside)
            inside = []
            texts = []
            characters = 0
    if texts:
        yield _chunk(texts, inside)


def _chunk(texts: Sequence[str], pairs: Sequence[Pair]) -> Chunk:
    text = f'[{",".join(texts)}]'
    digest = hashlib.blake2b(text.encode(), digest_size=20).digest()
    name = base64.urlsafe_b64encode(digest).decode().rstrip('=')
    return Chunk(name, text, pairs)


@transaction.retried
def list_tables(revision: int | None = None) -> list[dict[str, Any]]:
    """Read all tables without their rows, by name.

    :param revision: of the rule set; None for what holds now.
    :returns: for each its ``name``, ``revision``, ``size``, ``definition``.
    """
    query = (sa.select(_VERSIONS).where(*_in_force(_VERSIONS, revision))
             .order_by(_VERSIONS.c.name))
    with transaction.reader() as session:
        return [{'name': row.name, 'revision': row.table_revision,
                 'size': row.size, 'definition': row.definition}
                for row in session.execute(query)]


@transaction.retried
def list_digests(name: str, revision: int | None = None) -> list[str]:
    """Read the digests of the chunks of a table, in the order of its rows."""
    query = (sa.select(_CHUNKS.c.digest)
             .where(_CHUNKS.c.name == name, *_in_force(_CHUNKS, revision))
             .order_by(_CHUNKS.c.position))
    with transaction.reader() as session:
        return list(session.execute(query).scalars())


def read_chunks(name: str, digests: Sequence[str],
                revision: int | None = None) -> dict[str, list[Pair]]:
    """Read the rows of some chunks of a table.

    :returns: pairs of key and row, by the digest of the chunk. Chunks that
        another change has replaced since then are not among them.
    """
    found: dict[str, list[Pair]] = {}
    for part in transaction.chunks(digests, _BATCH):
        query = (sa.select(_CHUNKS.c.digest, _CHUNKS.c.data)
                 .where(_CHUNKS.c.name == name, _CHUNKS.c.digest.in_(part),
                        *_in_force(_CHUNKS, revision)))
        for row in transaction.read_rows(query):
            found[row['digest']] = json.loads(zlib.decompress(row['data']))
    return found


def put(session: orm.Session, revision: int, name: str,
        definition: Mapping[str, Any], size: int, chunks: Sequence[Stored]
        ) -> str | None:
    """Store a table.

    :param definition: all of it but its rows.
    :param size: the number of its rows.
    :param chunks: all of its chunks, in order.
    :returns: ``created`` or ``updated``, None where nothing has changed.
    """
    before = session.execute(
        sa.select(_VERSIONS.c.definition).where(
            _VERSIONS.c.name == name, _VERSIONS.c.end_revision.is_(None))
    ).scalar_one_or_none()
    has_changed = _put_chunks(session, revision, name, chunks)
    if before == definition and not has_changed:
        return None
    _end(session, _VERSIONS, revision, _VERSIONS.c.name == name)
    session.execute(sa.insert(_VERSIONS), [{
        'name': name, 'first_revision': revision, 'end_revision': None,
        'table_revision': revision, 'size': size,
        'definition': definition}])
    return 'created' if before is None else 'updated'


def remove(session: orm.Session, revision: int, name: str) -> bool:
    """Remove a table, and return whether there was one."""
    ended = _end(session, _VERSIONS, revision, _VERSIONS.c.name == name)
    _end(session, _CHUNKS, revision, _CHUNKS.c.name == name)
    return bool(ended)


def forget(session: orm.Session, oldest: int) -> None:
    """Remove what no revision has any more.

    :param oldest: the oldest revision that is kept.
    """
    for table in (_VERSIONS, _CHUNKS):
        session.execute(sa.delete(table).where(
            table.c.end_revision <= oldest))


def _put_chunks(session: orm.Session, revision: int, name: str,
                wanted: Sequence[Stored]) -> bool:
    """Store the chunks of a table, and return whether any has changed."""
    present = session.execute(
        sa.select(_CHUNKS.c.id, _CHUNKS.c.position, _CHUNKS.c.digest)
        .where(_CHUNKS.c.name == name, _CHUNKS.c.end_revision.is_(None))
        .order_by(_CHUNKS.c.position)).all()
    positions: list[float | None] = [None] * len(wanted)
    kept: set[int] = set()
    matcher = difflib.SequenceMatcher(
        None, [row.digest for row in present],
        [digest for digest, _text in wanted], autojunk=False)
    for old, new, length in matcher.get_matching_blocks():
        for offset in range(length):
            positions[new + offset] = present[old + offset].position
            kept.add(present[old + offset].id)
    if len(kept) == len(present) == len(wanted):
        return False
    places = _between(positions)
    if places is None:
        # There is no more room between two of them.
        kept = set()
        positions = [None] * len(wanted)
        places = [float(number) for number in range(len(wanted))]
    rows = [
        {'name': name, 'first_revision': revision, 'end_revision': None,
         'position': place, 'digest': digest, 'text': text}
        for (digest, text), before, place in zip(wanted, positions, places,
                                                 strict=True)
        if before is None]
    gone = [row.id for row in present if row.id not in kept]
    for part in transaction.chunks(rows, _BATCH):
        session.execute(sa.insert(_CHUNKS), _with_data(session, name, part))
    for part in transaction.chunks(gone, _BATCH):
        _end(session, _CHUNKS, revision, _CHUNKS.c.id.in_(part))
    return True


def _with_data(session: orm.Session, name: str,
               rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of the database with data in place of texts.

    Those without a text are stored at another place of the table.
    """
    stored = [row['digest'] for row in rows if row['text'] is None]
    data = {}
    if stored:
        data = dict(session.execute(
            sa.select(_CHUNKS.c.digest, _CHUNKS.c.data).where(
                _CHUNKS.c.name == name, _CHUNKS.c.digest.in_(stored),
                _CHUNKS.c.end_revision.is_(None))).tuples().all())
    complete = []
    for row in rows:
        text = row.pop('text')
        if text is None:
            row['data'] = data[row['digest']]
        else:
            row['data'] = zlib.compress(text.encode())
        complete.append(row)
    return complete


def _between(positions: Sequence[float | None]) -> list[float] | None:
    """Return rising positions, with new ones between those that are known.

    :returns: None if there is no room between two of them.
    """
    places: list[float] = []
    waiting = 0
    for position in [*positions, None]:
        is_last = len(places) + waiting == len(positions)
        if position is None and not is_last:
            waiting += 1
            continue
        low = places[-1] if places else None
        if position is None:
            first = -1.0 if low is None else low
            places += [first + number for number in range(1, waiting + 1)]
            break
        if low is None:
            low = position - waiting - 1
        width = (position - low) / (waiting + 1)
        places += [low + width * number for number in range(1, waiting + 1)]
        places.append(position)
        waiting = 0
    for one, other in zip(places, places[1:], strict=False):
        if one >= other:
            return None
    return places


def _end(session: orm.Session, table: Any, revision: int, which: Any) -> int:
    ended: Any = session.execute(
        sa.update(table).where(which, table.c.end_revision.is_(None))
        .values(end_revision=revision))
    return int(ended.rowcount)


def _in_force(table: Any, revision: int | None) -> list[Any]:
    if revision is None:
        return [table.c.end_revision.is_(None)]
    return [table.c.first_revision <= revision,
            sa.or_(table.c.end_revision.is_(None),
                   table.c.end_revision > revision)]
