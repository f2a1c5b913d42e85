# SPDX-License-Identifier: Apache-2.0

"""Kept inventories and parts of machines.

With them and the rules, which are kept by revision, a decision can be
repeated. A document has

``inventory``, ``plugin_data``
    The data that the machine sent, without the logs of its ramdisk.
``event``, ``revision``, ``result``, ``error``
    The same values as in the run.
``phases``
    What the rules of every phase did, as in the run.
``options``
    Settings and built-in rules that the stored rules depend on, as JSON text.
``facts``
    The data that every phase found: ``node``, ``ports``, ``port_groups``, and
    the differences of inventory and plugin data from the above; ``revision``
    of the rules if it may be another one; ``error`` with which its rules
    ended.
``previous``
    The data that the inspection before had stored, if a rule reads them.
``stored``
    The difference of the plugin data that were stored at the end from the
    above; None if the inspection failed.
"""

from collections.abc import Iterator, Mapping, Sequence
import dataclasses
import datetime
import json
import typing
import zlib

from oslo_utils import timeutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.db import content
from ironic_inspection_rules.db import history as db_history
from ironic_inspection_rules.db import run as db_run
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.run import working_copy
from ironic_inspection_rules.machine import part
from ironic_inspection_rules.machine import part_difference
from ironic_inspection_rules.runs import document_patch

Document = dict[str, typing.Any]

MOST_OF_A_PATCH = 600
"""Maximum size of a patch in bytes; otherwise the whole document is stored."""

LOGS = 'logs'
"""Plugin data that are large, and not facts that rules decide on."""

OK = 'ok'
"""Result of the run of an inspection that passed."""

FAILED = 'failed'
"""Result of the run of an inspection that failed."""

_OTHERS = 'others'
"""Key of all facts of a phase except the inventory and the plugin data."""

_ROWS = 10
"""Maximum number of inspections that are in memory at once."""

_encode = json.JSONEncoder(separators=(',', ':'), default=str).encode


@dataclasses.dataclass(frozen=True)
class Findings:
    """The data that an inspection found and left.

    ``inventory`` and ``plugin_data`` are the data that the machine posted,
    without the logs of its ramdisk. ``left`` are the plugin data at the end of
    the inspection. ``facts`` are the data that every phase found, see
    :func:`facts_of`. ``options`` are the options that the rules depended on,
    as JSON text. ``previous`` are the data that the inspection before had
    stored; they are valid only if a rule ``reads_previous``.
    """

    inventory: Document
    plugin_data: Document
    left: Document
    facts: Mapping[str, Mapping[str, str]] = dataclasses.field(
        default_factory=dict
    )
    options: str | None = None
    reads_previous: bool = False
    previous: Document | None = None

    def data(self, mask: bool) -> Document:
        """Return the data that the machine posted.

        :param mask: whether to mask secrets in the data.
        """
        if not mask:
            return {
                'inventory': self.inventory,
                'plugin_data': self.plugin_data,
            }
        return {
            'inventory': disclosure.data(self.inventory),
            'plugin_data': disclosure.data(self.plugin_data),
        }


@dataclasses.dataclass(frozen=True)
class PreparedInspection:
    """The rows of an inspection, for :func:`.db.history.record`.

    ``values`` are the columns of its own row, which names contents that are
    already stored. ``new_stays`` are the columns of the stays of parts that
    have come into the machine. ``end_times`` has the times at which parts that
    are gone were last reported, by kind and identity: ``('dimm', 's3z8')``.
    """

    values: Mapping[str, typing.Any]
    new_stays: Sequence[Mapping[str, typing.Any]]
    end_times: Mapping[tuple[str, str], datetime.datetime]


def prepare(
    uuid: str, node: typing.Any, document: Document
) -> PreparedInspection:
    """Store the contents of an inspection, and prepare its rows.

    One row is for the inventory, and names the contents. The other rows are
    for parts, e.g. a DIMM, that entered or left the machine: a row is the
    *stay* of a part in a machine, with its begin and its end. The caller must
    store the rows within :data:`.content.FRESH` seconds, because contents that
    no row names may be removed after that time.

    :param uuid: the UUID of the run, which is also that of the inventory.
    :param node: the node, which must be locked so that no other inspection
        ends meanwhile.
    :param document: the document of the inspection.
    """
    # The row of the inspection before, or None, and the stored documents that
    # this row names, by digest.
    last, documents = db_history.read_last(node.uuid)
    parts_before = part.NOTHING
    last_inspected_at = ''
    if last is not None:
        last_inspected_at = last.created_at.isoformat()
        if last.parts in documents:
            parts_before = part.Parts.from_dict(documents[last.parts])
    now = timeutils.utcnow()
    reported_parts = part.read(
        document['inventory'],
        document['plugin_data'],
        node.inspect_interface or '',
    )
    comparison = part_difference.PartComparison(parts_before, reported_parts)
    # Include the parts of sources that reported earlier, but not this time.
    parts_now = comparison.known(last_inspected_at)
    # Unchanged parts are stored only once, unless they were removed.
    is_stored = last is not None and last.parts in documents
    if is_stored and parts_now == parts_before:
        digest_of_parts = last.parts
    else:
        digest_of_parts = content.store(parts_now.as_dict())
    # All parts are new on the first inspection, which does not count as a
    # change.
    has_changed = last is not None and any(
        change.what != part_difference.UNREPORTED
        for change in comparison.changes
    )
    values = {
        'uuid': uuid,
        'node_uuid': node.uuid,
        'created_at': now,
        'interface': node.inspect_interface,
        'changed': has_changed,
        **_choose_content(last, documents, document),
        'parts': digest_of_parts,
    }
    new_stays = _list_new_stays(
        parts_before, parts_now, reported_parts.texts, node.uuid, now
    )
    end_times = _find_ends_of_stays(parts_before, parts_now, last)
    return PreparedInspection(values, new_stays, end_times)


def _choose_content(
    last: typing.Any, documents: Mapping[str, Document], document: Document
) -> dict[str, typing.Any]:
    """Return the columns ``content`` and ``patch`` for a document.

    If the document differs little from the document that the row of the
    inspection before names, ``content`` is the digest of that one, and
    ``patch`` has the difference. Otherwise the document is stored, and
    ``content`` is its own digest.

    :param last: the row of the inspection before; None if there is none.
    :param documents: stored documents by digest.
    :param document: the document of the inspection that has just ended.
    """
    if last is not None and last.content in documents:
        patch = document_patch.between(documents[last.content], document)
        if not patch:
            return {'content': last.content, 'patch': None}
        # A patch that replaces the whole document would save no space.
        if not document_patch.is_whole(patch):
            packed = zlib.compress(_encode(patch).encode(), 9)
            if len(packed) <= MOST_OF_A_PATCH:
                return {'content': last.content, 'patch': packed}
    return {'content': content.store(document), 'patch': None}


def _list_new_stays(
    parts_before: part.Parts,
    parts_now: part.Parts,
    labels: Mapping[str, str],
    node_uuid: str,
    now: datetime.datetime,
) -> list[dict[str, typing.Any]]:
    """Return the columns of a stay for every part that is new in the machine.

    With these rows, a part can be found in all machines by its identity.

    :param labels: the spelling that the machine uses for an identity, e.g.
        ``S3Z8`` for ``s3z8``; only for identities whose spelling differs.
    """
    new_stays = []
    for kind, identity in parts_now.identities:
        if (kind, identity) not in parts_before.identities:
            new_stays.append(
                {
                    'identity': identity,
                    'kind': kind,
                    'label': labels.get(identity, identity),
                    'node_uuid': node_uuid,
                    'began_at': now,
                    'ended_at': None,
                }
            )
    return new_stays


def _find_ends_of_stays(
    parts_before: part.Parts, parts_now: part.Parts, last: typing.Any
) -> dict[tuple[str, str], datetime.datetime]:
    """Return when parts that have left the machine were last reported.

    :param last: the row of the inspection before; None only if no part was
        known before.
    :returns: times by kind and identity of the part, e.g.
        ``{('dimm', 's3z8'): <time>}``.
    """
    end_times = {}
    for kind_and_identity, reports in parts_before.identities.items():
        if kind_and_identity in parts_now.identities:
            continue
        # Several sources may have reported the part at different times.
        times = []
        for reported_part in reports:
            last_report = parts_before.sources.get(reported_part.source)
            if last_report is None:
                # The source reported in the last inspection.
                times.append(last.created_at)
            else:
                times.append(datetime.datetime.fromisoformat(last_report))
        end_times[kind_and_identity] = max(times)
    return end_times


def read(row: typing.Any) -> Document:
    """Return the document of an inspection.

    :param row: the row of the inspection, with its patch.
    :returns: the document; empty if it is just being removed.
    """
    return _restore_document(row, content.load([row.content]))


def read_back(
    node_uuid: str,
    before: int | None = None,
    since: datetime.datetime | None = None,
) -> Iterator[tuple[typing.Any, Document]]:
    """Yield the inspections of a node with their documents, newest first.

    :param before: an ``id``; all yielded inspections are older than it.
    :param since: the earliest time of the oldest inspection, in UTC.
    """
    while True:
        # Read the patches too, because the documents are built from them.
        rows = db_history.list_inventories(
            node_uuid, _ROWS, before, since, patches=True
        )
        if not rows:
            return
        documents = content.load({row.content for row in rows})
        for row in rows:
            yield row, _restore_document(row, documents)
        # The next rows are older than the last of these rows.
        before = rows[-1].id


def _restore_document(
    row: typing.Any, documents: Mapping[str, Document]
) -> Document:
    """Return the document of an inspection.

    :param row: the row, which names a stored document. If this is the document
        of an earlier inspection, the ``patch`` of the row is applied to it.
    :param documents: stored documents by digest.
    :returns: the document; empty if the stored document is just being removed.
    """
    stored_document = documents.get(row.content, {})
    if not row.patch or not stored_document:
        return stored_document
    patch = json.loads(zlib.decompress(row.patch))
    document: Document = document_patch.apply(stored_document, patch)
    return document


def stored(document: Document) -> Document | None:
    """Return the data that an inspection stored at the end.

    :param document: the kept inspection: ``inventory`` and ``plugin_data`` as
        the machine posted them, and ``stored``, the patch from the posted to
        the stored plugin data; null if the inspection failed.
    :returns: ``inventory`` and ``plugin_data``; None if the inspection failed.
    """
    if document.get('stored') is None:
        return None
    plugin_data = document_patch.apply(
        document['plugin_data'], document['stored']
    )
    return {'inventory': document['inventory'], 'plugin_data': plugin_data}


def stored_before(node_uuid: str, before: int) -> Document | None:
    """Return the data that the last successful inspection before one stored.

    If rules are run again on the later inspection, they read these data as
    ``previous``.

    :param before: the ``id`` of the later inspection.
    :returns: ``inventory`` and ``plugin_data``; None if nothing is kept.
    """
    for _row, document in read_back(node_uuid, before):
        kept = stored(document)
        if kept is not None:
            return kept
    return None


def last_stored(node_uuid: str) -> Document | None:
    """Return the data that the last successful inspection of a node stored.

    :returns: ``inventory`` and ``plugin_data``; None if no run was successful,
        or if the data of the last successful run are not kept.
    """
    for run in db_run.list_runs(node_uuid):
        if run.result != OK:
            continue
        # This is the newest run that was successful.
        try:
            row = db_history.get_inventory(node_uuid, str(run.uuid))
        except exceptions.KeptInventoryNotFound:
            return None
        return stored(read(row))
    return None


def read_parts(row: typing.Any) -> part.Parts:
    """Return the parts of a machine that were known after an inspection.

    :param row: the row of the inspection. Its column ``parts`` is the digest
        by which the parts are stored.
    :returns: the parts; no parts if they are no longer stored.
    """
    stored_parts = content.load([row.parts]).get(row.parts)
    if not stored_parts:
        # Another process has removed the inspection since the row was read,
        # e.g. because of its age, and then its parts. Nothing is known anymore
        # about the parts, so return none instead of an error.
        return part.NOTHING
    return part.Parts.from_dict(stored_parts)


def reported_parts(row: typing.Any) -> part.Parts:
    """Return the parts of a machine that an inspection reported."""
    document = read(row)
    return part.read(
        document.get('inventory') or {},
        document.get('plugin_data') or {},
        row.interface or '',
    )


def facts_of(
    machine: working_copy.Facts, **more: typing.Any
) -> dict[str, str]:
    """Return the facts that a phase finds, as JSON texts.

    They are encoded immediately, because rules and hooks change the data in
    place later.

    :param more: further values to keep for the phase, e.g. the ``revision``.
    :returns: the texts of ``inventory`` and ``plugin_data``, and in ``others``
        the text of everything else.
    """
    others = {
        'node': machine.node,
        'ports': machine.ports,
        'port_groups': machine.port_groups,
        **more,
    }
    return {
        'inventory': _encode(machine.inventory),
        'plugin_data': _without_logs(machine.plugin_data),
        _OTHERS: _encode(others),
    }


def _without_logs(plugin_data: Mapping[str, typing.Any]) -> str:
    """Return plugin data as JSON, without the logs of the ramdisk."""
    kept = {name: value for name, value in plugin_data.items() if name != LOGS}
    return _encode(kept)


class _PostedData:
    """The inventory and the plugin data that a machine has sent.

    :param mask: whether to mask the secrets in the kept data.
    """

    def __init__(self, findings: Findings, mask: bool) -> None:
        self._mask = mask
        data = findings.data(mask=False)
        # By name ("inventory" and "plugin_data"): the JSON texts, and the data
        # as they are kept.
        self.texts = {name: _encode(value) for name, value in data.items()}
        self.kept = {
            name: _read_masked(text, mask) for name, text in self.texts.items()
        }

    def patch(self, name: str, text: str) -> document_patch.Patch:
        """Return the patch from the posted data to other data.

        :param name: ``inventory`` or ``plugin_data``.
        :param text: the other data, as JSON.
        """
        # Most phases change neither, and comparing texts is fast.
        if text == self.texts[name]:
            return []
        return document_patch.between(
            self.kept[name], _read_masked(text, self._mask)
        )


def document(
    findings: Findings,
    values: Mapping[str, typing.Any],
    errors: Mapping[str, Document],
    mask: bool,
) -> Document:
    """Build the document of an inspection that has ended.

    :param findings: the posted data, the facts of every phase, and the plugin
        data at the end.
    :param values: the columns of its run.
    :param errors: the errors with which phases ended, by phase.
    :param mask: whether to mask secrets in the posted data. Secrets in facts
        of the node and its ports are always masked.
    """
    posted = _PostedData(findings, mask)
    facts = {}
    for phase, texts in findings.facts.items():
        # Credentials of the node and its ports are never kept, even if the
        # rules saw them.
        facts_of_phase = disclosure.data(json.loads(texts[_OTHERS]))
        for name in posted.texts:
            facts_of_phase[name] = posted.patch(name, texts[name])
        facts_of_phase['error'] = errors.get(phase)
        facts[phase] = facts_of_phase
    # A failed inspection stores no plugin data.
    stored_patch = None
    if values['error'] is None:
        stored_patch = posted.patch(
            'plugin_data', _without_logs(findings.left)
        )
    result = dict(posted.kept)
    if findings.reads_previous:
        result['previous'] = _read_masked(_encode(findings.previous), mask)
    for name in ('event', 'revision', 'result', 'error'):
        result[name] = values[name]
    result['options'] = findings.options
    result['phases'] = _without_seconds(values['phases'])
    result['facts'] = facts
    result['stored'] = stored_patch
    return result


def _without_seconds(
    phases: Mapping[str, Mapping[str, typing.Any]],
) -> Document:
    """Return the records of phases without their durations.

    Without the durations, equal inspections have equal documents, which are
    stored only once.
    """
    records = {}
    for phase, record in phases.items():
        records[phase] = {
            name: value for name, value in record.items() if name != 'seconds'
        }
    # Convert the records to plain JSON data, because a patch can only be built
    # from such data.
    plain_records: Document = json.loads(_encode(records))
    return plain_records


def _read_masked(text: str, mask: bool) -> typing.Any:
    """Read JSON, and mask the secrets in it if ``mask`` is true."""
    value = json.loads(text)
    if mask:
        return disclosure.data(value)
    return value
