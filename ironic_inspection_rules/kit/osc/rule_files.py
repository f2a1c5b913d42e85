# SPDX-License-Identifier: Apache-2.0

"""Rule files of a command: warnings of lint, places of errors, UUIDs."""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import dataclasses
import json
from typing import Any
import uuid

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions
from oslo_utils import uuidutils

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import registry
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.authoring import lint
from ironic_inspection_rules.kit.client import http
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.rule_set import replacement

Rule = Mapping[str, Any]

# Of more the number is printed, and the command that prints all.
_MOST_WARNINGS = 50


def add_argument(parser: Any) -> None:
    """Add the argument for rule files."""
    parser.add_argument(
        'files',
        metavar='<file>',
        nargs='+',
        help=_(
            'YAML or JSON file with one rule or a list of rules; a folder '
            'with such files, or - for standard input'
        ),
    )


def add_prune(parser: Any) -> None:
    """Add the option that makes the files the whole rule set."""
    parser.add_argument(
        '--prune',
        action='store_true',
        help=_(
            'Take the files for the whole rule set, beside the built-in '
            'rules. Without it they are added to the rules in force, and '
            'a rule replaces the stored one with its UUID or, without a '
            'UUID, with its description; "apply" does the same'
        ),
    )


def load(paths: list[str], stderr: Any) -> file_set.RuleFiles:
    """Read rule files, and print the warnings of lint about them.

    :raises: :class:`.exceptions.InvalidDocument` if one cannot be read.
    """
    files = file_set.load_all(paths)
    findings = _warnings(files.documents, files.tables)
    for finding in findings[:_MOST_WARNINGS]:
        place = f'{finding.path}:{finding.line}:{finding.column}'
        stderr.write(
            _('%(place)s: warning: %(rule)s: %(message)s\n')
            % {
                'place': place,
                'rule': finding.rule or _('the file'),
                'message': finding.message,
            }
        )
    more = len(findings) - _MOST_WARNINGS
    if more > 0:
        stderr.write(
            _('and %d more warnings: see "ironic-inspection-rules lint"\n')
            % more
        )
    # They were checked and are only sent from here on: what was built for the
    # checks would take memory until the command ends.
    return dataclasses.replace(files, tables=files.tables.without_built())


@contextlib.contextmanager
def explained(baremetal: Any, files: file_set.RuleFiles) -> Iterator[None]:
    """Report, with file and line, why rules of files are refused.

    A context manager around requests that send the rules. An error that is
    not about them, as of a broken server, goes on as it is.

    :param files: the source of the rules that are sent.
    :raises: CommandError instead of openstacksdk's exception, or ours.
    """
    try:
        yield
    except exceptions.InvalidRules as exc:
        raise osc_exceptions.CommandError(
            files.format_problems(exc.problems) or str(exc)
        ) from exc
    except sdk_exceptions.HttpException as exc:
        if exc.response is None or exc.response.status_code >= 500:
            raise
        if not inspection_rule.is_served(baremetal):
            # This plugin is not there. The base class of all commands reports
            # that.
            raise
        raise osc_exceptions.CommandError(
            files.format_problems(http.problems(exc))
            or exc.details
            or str(exc)
        ) from exc


def with_uuids(rules: Sequence[Rule], in_force: Sequence[Rule]) -> list[Rule]:
    """Return rules that all have a UUID.

    A rule without one gets that of the rule in force which ``apply`` would
    replace, else a new one. The server would make a new one in every request,
    so that results of two pages could not be added up.

    :param in_force: with conditions and actions, by which a rule that has
        neither UUID nor description is recognized.
    """
    canonical = [_with_canonical_uuid(rule) for rule in rules]
    stored = [rule for rule in in_force if not rule['built_in']]
    identified: list[Rule] = []
    matches = replacement.match(canonical, stored)
    for rule, match in zip(canonical, matches, strict=True):
        if match:
            identified.append({**rule, 'uuid': match.rule['uuid']})
        elif rule.get('uuid') in (None, ''):
            identified.append({**rule, 'uuid': str(uuid.uuid4())})
        else:
            identified.append(rule)
    return identified


def _with_canonical_uuid(rule: Rule) -> Rule:
    """Return a rule with its UUID as Ironic writes it, if it has one."""
    text = rule.get('uuid')
    if isinstance(text, str) and uuidutils.is_uuid_like(text):
        return {**rule, 'uuid': str(uuid.UUID(text))}
    return rule


def among(
    rules: Sequence[Rule], in_force: Sequence[Rule], prune: bool
) -> list[Rule]:
    """Return the rules that would be in force if rules of files were applied.

    :param rules: those of the files; all have a UUID, see :func:`with_uuids`.
    :param prune: whether stored rules that are not in the files are removed.
    """
    rules_left = {str(rule['uuid']): rule for rule in rules}
    result = []
    for rule in in_force:
        if rule['uuid'] in rules_left:
            # In the place of the rule that it replaces: the order is the one
            # in which rules run.
            result.append(rules_left.pop(rule['uuid']))
        elif rule['built_in'] or not prune:
            result.append(rule)
    return [*result, *rules_left.values()]


def warnings(rule: dict[str, Any]) -> list[str]:
    """Return the warnings of lint for a rule that is in no file."""
    written = document.parse('-', json.dumps([rule]))
    findings = _warnings([written], table_file.NO_TABLES)
    return [finding.message for finding in findings]


def _warnings(
    documents: Sequence[document.Document], tables: table_file.FileTables
) -> list[lint.Finding]:
    """Return the warnings of lint about rules, without details of closed ones.

    A rule is closed if only few may read its content, such as a sensitive
    one: others may see the output of the command.

    :param tables: of the files.
    """
    # Paths of files, and labels of rules in them.
    closed = set()
    for rule_file in documents:
        for rule in file_rule.list_rules(rule_file):
            if stored_rule.is_posted_sensitive(rule.entry):
                closed.add((rule.source.path, rule.label))
    warnings = []
    for finding in lint.in_order(
        lint.of_documents(documents, registry.installed(), given_tables=tables)
    ):
        if finding.level != lint.WARNING:
            continue
        if finding.check == lint.BUILT_IN_ONLY:
            # What only built-in rules may have, Ironic refuses itself.
            continue
        # That a rule writes a secret where others read it is said in full, as
        # that message has nothing of the rule in it.
        is_of_closed = (finding.path, finding.rule) in closed
        if not is_of_closed or finding.check == lint.READABLE_SECRET:
            warnings.append(finding)
            continue
        message = _(
            '%(mistake)s "ironic-inspection-rules lint" says where'
        ) % {'mistake': lint.DESCRIPTIONS[finding.check]}
        warnings.append(dataclasses.replace(finding, message=message))
    return warnings
