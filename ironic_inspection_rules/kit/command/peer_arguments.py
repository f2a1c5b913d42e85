# SPDX-License-Identifier: Apache-2.0

"""Options, formats and exit codes of commands that find odd machines.

Peers are machines with equal values at some paths: usually vendor, product and
board, or the paths that ``--by`` gives. A machine is odd if it differs from
its peers. A difference is a finding, which has a kind, e.g. ``field``. The
command ``outliers`` of ironic-inspection-rules reads machines from files; the
command of the openstack client reads stored inspections.
"""

import argparse
from collections.abc import Sequence
import json
import math
import os.path
import typing

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import path as data_path
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.machine.outliers import finding
from ironic_inspection_rules.kit.machine.outliers import peers
from ironic_inspection_rules.kit.report import outliers_text
from ironic_inspection_rules.kit.report.pages import outliers as page
from ironic_inspection_rules.rule_file import yaml_text

EXIT_ODD = 2

_ROOTS = ('inventory', 'plugin_data')


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the comparison, its output format and ``--learn``."""
    parser.add_argument(
        '--by',
        metavar='<path>',
        nargs='+',
        action='extend',
        default=[],
        type=_parse_field,
        help=_(
            'Paths of the values that peers have in common, such as '
            'inventory.cpu.model_name, instead of vendor, product and '
            'board'
        ),
    )
    parser.add_argument(
        '--min-peers',
        metavar='<number>',
        type=arguments.parse_positive,
        default=peers.MIN_PEERS,
        help=_('Machines that are enough to be compared (default: %d)')
        % peers.MIN_PEERS,
    )
    parser.add_argument(
        '--ignore',
        metavar='<kind>',
        nargs='+',
        action='extend',
        default=[],
        type=_parse_kind,
        help=_('Kinds of findings to leave out: %s')
        % ', '.join(finding.KINDS),
    )
    parser.add_argument(
        '-f',
        '--format',
        choices=('table', 'json', 'html'),
        default='table',
        help=_('How to print what is found; html is a page for a browser'),
    )
    arguments.add_output(parser)
    parser.add_argument(
        '--learn',
        metavar='<file>',
        type=arguments.check_new_file,
        help=_(
            'Write rules in mode audit that accept machines like those '
            'that are not odd'
        ),
    )


def render(result: peers.Result, output_format: str) -> str:
    """Format the result of a comparison as text.

    :param output_format: ``table``, ``json`` or ``html``.
    """
    if output_format == 'html':
        return page.render(result)
    if output_format == 'json':
        return json.dumps(result.as_dict(), indent=2) + '\n'
    return outliers_text.render(result)


def format_rules(rules: Sequence[dict[str, typing.Any]]) -> str:
    """Return the text of the file that ``--learn`` writes.

    It is a comment and the rules in YAML.

    :param rules: the rules as plain data. They accept the machines that are
        not odd.
    """
    comment = yaml_text.comment(
        _(
            'Records which machines are unlike their peers. Made by '
            'ironic-inspection-rules outliers.'
        )
    )
    return comment + yaml_text.dump(rules, width=math.inf)


def missing_path_warnings(result: peers.Result, by: Sequence[str]) -> str:
    """Return warnings about the paths of ``--by`` that no machine reports.

    A path that no machine reports may be misspelled, e.g.
    ``inventory.cpu.modelname``.

    :param by: the paths, e.g. ``inventory.cpu.model_name``.
    :returns: a line per path, e.g. ``No machine reports a value of
        inventory.cpu.modelname``. Empty if there are no machines.
    """
    # The key of a group has the paths that its machines report, with their
    # values, e.g. (('inventory.cpu.model_name', 'Xeon Gold'),).
    keys_of_groups = [group.key for group in result.groups]
    keys_of_groups += [skipped.key for skipped in result.skipped]
    if not keys_of_groups:
        # There are no machines, so the path may be right.
        return ''
    reported_paths = set()
    for key in keys_of_groups:
        for path, _value in key:
            reported_paths.add(path)
    lines = []
    for path in by:
        if path not in reported_paths:
            lines.append(_('No machine reports a value of %s\n') % path)
    return ''.join(lines)


def exit_status(result: peers.Result) -> int:
    """Return the exit status of a command: 2 if any machine is odd, else 0."""
    if result.findings:
        return EXIT_ODD
    return 0


def _parse_field(text: str) -> str:
    """Parse the path of a field that is given to ``--by``.

    :param text: e.g. ``inventory.cpu.count`` or ``{inventory.cpu.count}``.
    :returns: the path without braces.
    :raises: ArgumentTypeError if the text is not the path of a field, or if a
        file has this name.
    """
    path = text.strip().removeprefix('{').removesuffix('}').strip()
    try:
        tokens = data_path.parse(path)
    except exceptions.OperationError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
    # --by takes several values, so a file after them could be read as one more
    # path: "inventory.json" has the form of a path. Refuse files here, so that
    # the shell gives them to the command.
    is_field = tokens[0] in _ROOTS and len(tokens) >= 2
    if not is_field or os.path.exists(text):
        raise argparse.ArgumentTypeError(
            _(
                '"%s" is no path such as inventory.cpu.model_name or '
                'plugin_data.extra.system.rack.name'
            )
            % text
        )
    return path


def _parse_kind(text: str) -> str:
    """Check that a text is the kind of a finding, and return it unchanged."""
    if text not in finding.KINDS:
        raise argparse.ArgumentTypeError(
            _('"%(given)s" is no kind of findings; kinds are %(kinds)s')
            % {'given': text, 'kinds': ', '.join(finding.KINDS)}
        )
    return text
