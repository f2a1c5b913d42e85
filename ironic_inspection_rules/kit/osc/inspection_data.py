# SPDX-License-Identifier: Apache-2.0

"""Implement ``inspection data export``, which writes inventories to files.

The file of a node, e.g. ``rack1-07.json``, has its inventory and its plugin
data: ``{"inventory": {…}, "plugin_data": {…}}``. With ``--anonymize``, names,
serial numbers and addresses are replaced by others of the same form, so that
the files can be given to other people.
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import secrets
from typing import Any, NamedTuple

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.client import inspection_run
from ironic_inspection_rules.kit.client import node
from ironic_inspection_rules.kit.command import arguments
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
            type=arguments.check_path,
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
            given, or if the key cannot be used.
        :raises: OSError if a file cannot be read or written.
        """
        selection = node_selection.NodeSelection.parse(parsed_args.filters)
        anonymizer = _build_anonymizer(parsed_args)
        directory = pathlib.Path(parsed_args.directory)
        directory.mkdir(parents=True, exist_ok=True)
        # With --force the directory is not listed, because the user may be
        # allowed to write to it, but not to read it.
        if not parsed_args.force and any(directory.iterdir()):
            raise osc_exceptions.CommandError(
                _('%s is not empty: name another directory, or add --force')
                % directory
            )
        with parallel.interruptible(self.app.stderr, _('Interrupted')):
            self._export(selection, anonymizer, directory, parsed_args.jobs)

    def _export(
        self,
        selection: node_selection.NodeSelection,
        anonymizer: machine.Anonymizer | None,
        directory: pathlib.Path,
        jobs: int,
    ) -> None:
        """Write a file for every selected node, and print how many there are.

        Nodes about which Ironic has no data get no file. Their number is
        printed on standard error, and so is the number of nodes whose runs the
        user may not read.

        :param anonymizer: replaces names and numbers; None leaves the data
            unchanged.
        :param directory: the directory for the files, which must exist.
        :param jobs: the number of nodes that are read in parallel.
        """
        baremetal = self.baremetal
        file_count = 0
        forbidden_count = 0
        # Two nodes must not get the same file.
        used_names: set[str] = set()
        nodes = selection.read_matching_nodes(baremetal)
        with parallel.RequestThreads(jobs) as threads:
            # The threads read and anonymize the data.
            read_machine = functools.partial(
                _read_machine, baremetal, anonymizer
            )
            machines = threads.map(read_machine, nodes, _('Exporting'))
            for node_fields, machine_data in zip(nodes, machines, strict=True):
                if machine_data.are_runs_forbidden:
                    forbidden_count += 1
                if machine_data.data is None:
                    # Ironic has no data about the node.
                    continue
                name = _choose_file_name(node_fields, anonymizer, used_names)
                _write_file(directory / name, machine_data.data)
                file_count += 1
        self.app.stdout.write(
            _P(
                '%(written)d inventory written to %(directory)s\n',
                '%(written)d inventories written to %(directory)s\n',
                file_count,
            )
            % {'written': file_count, 'directory': directory}
        )
        missing = len(nodes) - file_count
        if missing:
            self.app.stderr.write(
                _P(
                    'Without an inventory: %d node\n',
                    'Without an inventory: %d nodes\n',
                    missing,
                )
                % missing
            )
        if forbidden_count:
            self.app.stderr.write(
                _P(
                    'Warning: the runs of %d node may not be read, so the '
                    'data of failed inspections are left out\n',
                    'Warning: the runs of %d nodes may not be read, so the '
                    'data of failed inspections are left out\n',
                    forbidden_count,
                )
                % forbidden_count
            )


def _build_anonymizer(parsed_args) -> machine.Anonymizer | None:
    """Build the anonymizer of ``--anonymize``; None without the option.

    The replacement of a name is computed from the name and a secret key. With
    the key in the file of ``--key``, every export replaces a name by the same
    other name. Without ``--key`` the key is random, and the next export has
    different replacements.

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


class _MachineData(NamedTuple):
    """What the user may read about the machine of a node.

    :ivar data: ``{'inventory': …, 'plugin_data': …}``; None if Ironic has no
        data.
    :ivar are_runs_forbidden: whether the user may not read the runs of the
        node, so that the data of a failed inspection are not known.
    """

    data: dict[str, Any] | None
    are_runs_forbidden: bool


def _read_machine(
    baremetal: Any,
    anonymizer: machine.Anonymizer | None,
    node_fields: dict[str, Any],
) -> _MachineData:
    """Read the newest inventory and plugin data of a node from Ironic.

    If the last inspection failed, and Ironic has kept its data, these are
    returned. Otherwise it is the stored inventory, which comes from the last
    successful inspection. So it is if the user may not read runs.

    :param anonymizer: replaces names and numbers; None leaves the data
        unchanged.
    :param node_fields: the node, with ``uuid`` and ``name``.
    """
    uuid = node_fields['uuid']
    newest = None
    are_runs_forbidden = False
    try:
        newest = inspection_run.get_failed_data(baremetal, uuid)
    except sdk_exceptions.NotFoundException:
        # An Ironic without the plugin does not know this request.
        pass
    except sdk_exceptions.ForbiddenException:
        are_runs_forbidden = True
    if newest is None:
        # The last inspection did not fail, or its data are not known.
        try:
            newest = node.inventory(baremetal, uuid)
        except sdk_exceptions.NotFoundException:
            return _MachineData(None, are_runs_forbidden)
    plugin_data = dict(newest['plugin_data'] or {})
    # The trace says what rules did. It is not data of the machine.
    plugin_data.pop(model.TRACE_KEY, None)
    data = {'inventory': newest['inventory'], 'plugin_data': plugin_data}
    if anonymizer is not None:
        # The name of the node may occur in the data, e.g. as the host name. It
        # is replaced there, too.
        names_to_replace = []
        if node_fields['name']:
            names_to_replace.append(node_fields['name'])
        data = anonymizer.machine(data, names_to_replace)
    return _MachineData(data, are_runs_forbidden)


def _write_file(path: pathlib.Path, data: dict[str, Any]) -> None:
    """Write data as JSON to a file, completely or not at all.

    The data are first written to a file with the suffix ``.part``, so that an
    incomplete file is not mistaken for an inventory. The file is renamed when
    it is complete, and removed if writing fails or is interrupted.
    """
    unfinished = path.with_suffix('.part')
    # The callbacks of the stack run when the block is left, also by an error.
    with contextlib.ExitStack() as cleanup:
        with (
            exceptions.name_file_in_errors(str(unfinished)),
            open(unfinished, 'w', encoding='utf-8') as stream,
        ):
            cleanup.callback(os.unlink, unfinished)
            json.dump(data, stream, indent=2)
            stream.write('\n')
        os.replace(unfinished, path)
        # The file is complete. Drop the callback, because there is nothing to
        # remove.
        cleanup.pop_all()


def _choose_file_name(
    node_fields: dict[str, Any],
    anonymizer: machine.Anonymizer | None,
    used: set[str],
) -> str:
    """Choose the file name of a node, and add it to the used names.

    * Usually it is the name of the node: ``rack1-07.json``.
    * A node without a name has its UUID: ``<UUID>.json``.
    * If the name has characters that are not safe in file names, they are
      replaced, and the UUID is appended: ``a/b`` becomes ``a_b-<UUID>.json``.
      The same is done if the name is cut because it is too long.
    * If another node already has the file name, the UUID is appended.

    :param node_fields: the node, with ``uuid`` and ``name``.
    :param anonymizer: replaces the name and the UUID; None keeps them.
    :param used: the used names without ``.json``, in lower case because some
        file systems ignore case.
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
