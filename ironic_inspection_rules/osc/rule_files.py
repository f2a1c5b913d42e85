# SPDX-License-Identifier: Apache-2.0

"""Rule files given to a command, and errors in them."""

from collections.abc import Iterable, Iterator, Sequence
import contextlib
import json
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.authoring import lint
from ironic_inspection_rules.client import fleet
from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.engine import registry
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_set import replacement

_MOST_WARNINGS = 50


def add_argument(parser: Any) -> None:
    """Add the argument for rule files."""
    parser.add_argument(
        'files', metavar='<file>', nargs='+',
        help=_('YAML or JSON file with one rule or a list of rules; a folder '
               'with such files, or - for standard input'))


def load(paths: list[str], stderr: Any) -> file_set.RuleFiles:
    """Read rules, and print the warnings of lint.

    :raises: :class:`.exceptions.InvalidDocument` if one cannot be read.
    """
    files = file_set.load_all(paths)
    found = _warnings(files.documents)
    for each in found[:_MOST_WARNINGS]:
        stderr.write(_('%(place)s: warning: %(rule)s: %(message)s\n') % {
            'place': f'{each.path}:{each.line}:{each.column}',
            'rule': each.rule or _('the file'), 'message': each.message})
    if len(found) > _MOST_WARNINGS:
        stderr.write(_('and %d more warnings: see "ironic-inspection-rules '
                       'lint"\n') % (len(found) - _MOST_WARNINGS))
    return files


@contextlib.contextmanager
def explained(baremetal: Any, files: file_set.RuleFiles) -> Iterator[None]:
    """Add file and line to the error when Ironic refuses a rule.

    :param files: the source of the rules that are sent.
    :raises: CommandError instead of openstacksdk's exception.
    """
    try:
        yield
    except sdk_exceptions.HttpException as exc:
        if exc.response is None or exc.response.status_code >= 500:
            raise
        if not inspection_rule.is_served(baremetal):
            # Reported by the base class of all commands.
            raise
        raise osc_exceptions.CommandError(
            files.explain(exc.details or str(exc))) from exc


def with_uuids(rules: Sequence[Any], in_force: Sequence[dict[str, Any]]
               ) -> list[Any]:
    """Return rules with a UUID each, the same one in every request.

    It is the UUID of the rule in force that ``apply`` would replace.
    Entries that are no rules stay as they are; Ironic refuses them.
    """
    places = replacement.match(
        [rule if isinstance(rule, dict)
         and isinstance(rule.get('uuid', ''), str | None) else None
         for rule in rules],
        [rule for rule in in_force if not rule['built_in']])
    return [rule if not isinstance(rule, dict) or rule.get('uuid')
            else {**rule, 'uuid': place[0]['uuid']} if place
            else fleet.with_uuids([rule])[0]
            for rule, place in zip(rules, places, strict=True)]


def warn_of_left_out(files: file_set.RuleFiles, in_force: Iterable[Any],
                     stderr: Any) -> None:
    """Warn of built-in rules in force that the files do not contain."""
    given = {rule.get('uuid') for rule in files.rules
             if isinstance(rule, dict)}
    count = sum(rule['built_in'] and rule['uuid'] not in given
                for rule in in_force)
    if count:
        stderr.write(_P(
            'Warning: %d built-in rule is in force, and the files do not '
            'have it: what it does counts as a difference\n',
            'Warning: %d built-in rules are in force, and the files do not '
            'have them: what they do counts as a difference\n', count)
            % count)


def warnings(rule: dict[str, Any]) -> list[str]:
    """Return the warnings of lint for a rule that is in no file."""
    written = document.parse('-', json.dumps([rule]))
    return [each.message for each in _warnings([written])]


def _warnings(documents: Iterable[document.Document]
              ) -> list[lint.Finding]:
    """Return the warnings of lint; Ironic itself reports the errors."""
    return [each for each in lint.in_order(lint.of_documents(
        documents, registry.installed())) if each.level == lint.WARNING]
