# SPDX-License-Identifier: Apache-2.0

"""Export inventories to files, optionally anonymized."""

import contextlib
import functools
import json
import os
import pathlib
import re
import secrets
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.client import inspection_run
from ironic_inspection_rules.kit.client import node
from ironic_inspection_rules.kit.machine.anonymity import machine
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import node_selection
from ironic_inspection_rules.kit.osc import parallel

_UNSAFE = re.compile(r'[^A-Za-z0-9._-]')
# Number of characters. With an ending, such a name is valid on all file
# systems.
_MAX_NAME_LENGTH = 200
# A shorter key could be guessed.
_MIN_KEY_BYTES = 16


class ExportInspectionData(command.BaremetalCommand):
    """Write the inventories of nodes to files, one for each node.

    The files are for "ironic-inspection-rules test --inventory". They have
    the stored inventory or, if the last inspection failed, its data. Nodes
    without either are left out.
    """

    example = 'exported'

    def add_arguments(self, parser):
        parser.add_argument(
            'directory',
            metavar='<directory>',
            help=_('Directory for the files; created if missing'),
        )
        node_selection.add_argument(parser, 'filters')
        parser.add_argument(
            '--anonymize',
            action='store_true',
            help=_(
                'Replace serial numbers, addresses, names and UUIDs by '
                'others of the same form, equal ones equally in all '
                'files, and leave out logs and secrets, also those in '
                'text after "password=" and the like, in URLs, and keys. '
                'Names of models stay, and so does text of unknown form: '
                'names of people and places in descriptions, and secrets '
                'without a name. Look through the files before you give '
                'them away'
            ),
        )
        parser.add_argument(
            '--key',
            metavar='<file>',
            help=_(
                'With --anonymize, a file with the secret that the '
                'replacements depend on, to get the same ones the next '
                'time; a random one if not given, so that nobody can '
                'find out what was replaced'
            ),
        )
        parser.add_argument(
            '--force',
            action='store_true',
            help=_(
                'Write to a directory that has files, and overwrite '
                'those of the same names'
            ),
        )
        parallel.add_jobs(parser)

    def take_action(self, parsed_args):
        """Write the data of the selected nodes to the directory.

        :raises: CommandError if the directory has files and ``--force`` is not
            given, if the key cannot be used, or if a file cannot be read or
            written.
        """
        selection = node_selection.NodeSelection.parse(parsed_args.filters)
        try:
            anonymizer = _build_anonymizer(parsed_args)
            directory = pathlib.Path(parsed_args.directory)
            directory.mkdir(parents=True, exist_ok=True)
            # With --force it is not listed, which may be forbidden.
            if not parsed_args.force and any(directory.iterdir()):
                raise osc_exceptions.CommandError(
                    _(
                        '%s is not empty: name another directory, or add '
                        '--force'
                    )
                    % directory
                )
            with parallel.interruptible(self.app.stderr, _('Interrupted')):
                self._export(
                    selection, anonymizer, directory, parsed_args.jobs
                )
        except OSError as exc:
            raise osc_exceptions.CommandError(str(exc)) from exc

    def _export(
        self,
        selection: node_selection.NodeSelection,
        anonymizer: machine.Anonymizer | None,
        directory: pathlib.Path,
        jobs: int,
    ) -> None:
        """Write the data of every selected node to a file of the directory.

        Finally, the numbers of files and of nodes without data are printed.

        :param anonymizer: replaces names and numbers; None leaves the data
            unchanged.
        :param jobs: how many nodes are read in parallel.
        """
        baremetal = self.baremetal
        written = 0
        used_names: set[str] = set()
        nodes = selection.read_matching_nodes(baremetal)
        with parallel.RequestThreads(jobs) as threads:
            read = functools.partial(_read_machine, baremetal, anonymizer)
            machines = threads.map(read, nodes, _('Exporting'))
            for node_fields, data in zip(nodes, machines, strict=True):
                if data is None:
                    # Ironic has no data about the node.
                    continue
                name = _choose_file_name(node_fields, anonymizer, used_names)
                _write_file(directory / name, data)
                written += 1
        self.app.stdout.write(
            _P(
                '%(written)d inventory written to %(directory)s\n',
                '%(written)d inventories written to %(directory)s\n',
                written,
            )
            % {'written': written, 'directory': directory}
        )
        missing = len(nodes) - written
        if missing:
            self.app.stderr.write(
                _P(
                    'Without an inventory: %d node\n',
                    'Without an inventory: %d nodes\n',
                    missing,
                )
                % missing
            )


def _build_anonymizer(parsed_args) -> machine.Anonymizer | None:
    """Build the anonymizer of ``--anonymize``; None without the option.

    A secret key decides by what a name is replaced. If the key is in the file
    of ``--key``, two exports with the same file have the same replacements.
    Otherwise the key is random, and every export has its own replacements.

    :raises: CommandError for ``--key`` without ``--anonymize``, or if the key
        is so short that it could be guessed.
    :raises: OSError if the key cannot be read.
    """
    if not parsed_args.anonymize:
        if parsed_args.key:
            raise osc_exceptions.CommandError(
                _('--key is only for --anonymize')
            )
        return None
    if not parsed_args.key:
        return machine.Anonymizer(secrets.token_bytes(32))
    key = pathlib.Path(parsed_args.key).read_bytes()
    if len(key) < _MIN_KEY_BYTES:
        raise osc_exceptions.CommandError(
            _(
                'The key in %(path)s is too short to be secret: %(least)d '
                'bytes are the least'
            )
            % {'path': parsed_args.key, 'least': _MIN_KEY_BYTES}
        )
    return machine.Anonymizer(key)


def _read_machine(
    baremetal: Any,
    anonymizer: machine.Anonymizer | None,
    node_fields: dict[str, Any],
) -> dict[str, Any] | None:
    """Read the newest inventory and plugin data of a node from Ironic.

    :param anonymizer: replaces names and numbers; None leaves the data
        unchanged.
    :param node_fields: the node, with ``uuid`` and ``name``.
    :returns: ``inventory`` and ``plugin_data``; None if Ironic has no data.
    """
    uuid = node_fields['uuid']
    newest = None
    # Without the plugin, Ironic has no runs.
    with contextlib.suppress(sdk_exceptions.NotFoundException):
        newest = inspection_run.get_failed_data(baremetal, uuid)
    # If the last inspection failed, its data are newer than the stored
    # inventory, which comes from the last successful inspection.
    if newest is None:
        try:
            newest = node.inventory(baremetal, uuid)
        except sdk_exceptions.NotFoundException:
            return None
    plugin_data = dict(newest['plugin_data'] or {})
    # Rules leave a trace in plugin data, which does not belong to the machine.
    plugin_data.pop(model.TRACE_KEY, None)
    data = {'inventory': newest['inventory'], 'plugin_data': plugin_data}
    if anonymizer is None:
        return data
    # The machine may have the name of the node, which is then also replaced.
    names = []
    if node_fields['name']:
        names.append(node_fields['name'])
    return anonymizer.machine(data, names)


def _write_file(path: pathlib.Path, data: dict[str, Any]) -> None:
    """Write JSON to a file, completely or not at all."""
    # Use another suffix, so that an incomplete file is not mistaken for an
    # inventory.
    unfinished = path.with_suffix('.part')
    # If an error or an interrupt leaves the block before its last line, the
    # unfinished file is removed.
    with contextlib.ExitStack() as on_error:
        with (
            exceptions.naming(str(unfinished)),
            open(unfinished, 'w', encoding='utf-8') as stream,
        ):
            on_error.callback(os.unlink, unfinished)
            json.dump(data, stream, indent=2)
            stream.write('\n')
        os.replace(unfinished, path)
        # The file is complete, so nothing must be removed.
        on_error.pop_all()


def _choose_file_name(
    node_fields: dict[str, Any],
    anonymizer: machine.Anonymizer | None,
    used: set[str],
) -> str:
    """Choose the file name of a node, e.g. ``rack1-07.json``.

    Characters that are not safe in file names are replaced. If that changes
    the name, or if another node has the same name, the UUID is appended: the
    node ``a/b`` has the file ``a_b-<UUID>.json``.

    :param used: the names that are already used, in lower case because some
        file systems ignore case. The chosen name is added.
    """
    name = node_fields['name'] or ''
    uuid = node_fields['uuid']
    if anonymizer:
        name = anonymizer.name(name)
        uuid = anonymizer.uuid(uuid)
    # A name that starts with a dot would be a hidden file.
    stem = _UNSAFE.sub('_', name)[:_MAX_NAME_LENGTH].lstrip('.')
    is_changed = stem != name
    is_taken = stem.lower() in used
    if not stem:
        stem = uuid
    elif is_changed or is_taken:
        stem = f'{stem}-{uuid}'
    used.add(stem.lower())
    return f'{stem}.json'
