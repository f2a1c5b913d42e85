# SPDX-License-Identifier: Apache-2.0

"""Load rule files for a command, and relate their rules to those in force.

Commands such as ``plan`` and ``evaluate`` send the rules of files to Ironic.
This module prints the warnings of lint about the files, adds file and line to
errors of Ironic about rules, and finds the stored rules that the rules of the
files would replace. Rules in force are the stored rules and the built-in
rules.
"""

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
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_rule
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import table_file
from ironic_inspection_rules.rule_set import replacement

Rule = Mapping[str, Any]

# Maximum number of warnings that are printed. Further warnings are only
# counted, with a hint at the command that prints all of them.
_MAX_WARNINGS = 50


def add_argument(parser: Any) -> None:
    """Add the argument for rule files."""
    parser.add_argument(
        'files',
        metavar='<file>',
        nargs='+',
        help=_(
            'YAML or JSON file with one rule, a list of rules, or rules and '
            'tables; a folder with such files, or - for standard input'
        ),
    )


def add_prune(parser: Any) -> None:
    """Add ``--prune``, which makes the files the complete rule set."""
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

    A warning is printed as ``rules.yaml:3:5: warning: Note vendors: …``. At
    most 50 warnings are printed, followed by the number of further warnings.

    :param paths: paths of files and folders; ``-`` is standard input.
    :param stderr: the stream for the warnings.
    :raises: :class:`.exceptions.InvalidDocument` if a file cannot be read.
    """
    files = file_set.load_all(paths)
    warnings = _lint_documents(files.documents, files.tables)
    for finding in warnings[:_MAX_WARNINGS]:
        place = f'{finding.path}:{finding.line}:{finding.column}'
        stderr.write(
            _('%(place)s: warning: %(rule)s: %(message)s\n')
            % {
                'place': place,
                'rule': finding.rule or _('the file'),
                'message': finding.message,
            }
        )
    left_out = len(warnings) - _MAX_WARNINGS
    if left_out > 0:
        stderr.write(
            _('and %d more warnings: see "ironic-inspection-rules lint"\n')
            % left_out
        )
    # Lint has built tables in memory to check the rules. Drop them, because
    # the command only sends the tables in the form of the file.
    tables_to_send = files.tables.without_built()
    return dataclasses.replace(files, tables=tables_to_send)


@contextlib.contextmanager
def explain_refusal(files: file_set.RuleFiles) -> Iterator[None]:
    """Add file and line to the error if rules of files are refused.

    This is a context manager around requests that send the rules. The message
    has a line per problem of a rule. An error that names no rule is raised
    unchanged, and the base class of all commands explains it.

    :param files: the files with the rules that are sent.
    :raises: CommandError instead of the exception of openstacksdk or this
        package.
    """
    try:
        yield
    except exceptions.InvalidRules as exc:
        # This package has refused the rules, without a request.
        lines = files.format_problems(exc.problems)
        raise osc_exceptions.CommandError(lines or str(exc)) from exc
    except sdk_exceptions.HttpException as exc:
        lines = files.format_problems(http.read_problems(exc))
        if not lines:
            raise
        raise osc_exceptions.CommandError(lines) from exc


def with_uuids(rules: Sequence[Rule], in_force: Sequence[Rule]) -> list[Rule]:
    """Return the rules of files, and give a UUID to rules without one.

    Results of evaluations refer to rules by UUID. Therefore the caller must
    know the UUIDs before the rules are sent:

    * A rule that ``apply`` would store in place of a stored rule gets the UUID
      of the stored rule.
    * Any other rule keeps its UUID, or gets a random UUID if it has none.

    :param rules: the rules of the files.
    :param in_force: the rules in force. They need conditions and actions,
        because some rules are matched by their whole content.
    """
    rules_of_files = [_with_canonical_uuid(rule) for rule in rules]
    # "apply" does not replace built-in rules.
    stored_rules = [rule for rule in in_force if not rule['built_in']]
    # There is one match per rule; it is None if the rule is new. Rules are
    # matched by UUID, by a unique description, or by the whole content.
    matches = replacement.match(rules_of_files, stored_rules)
    rules_with_uuids: list[Rule] = []
    for rule, match in zip(rules_of_files, matches, strict=True):
        if match:
            uuid_of_replaced = match.stored['uuid']
            rules_with_uuids.append({**rule, 'uuid': uuid_of_replaced})
        elif rule.get('uuid') in (None, ''):
            rules_with_uuids.append({**rule, 'uuid': str(uuid.uuid4())})
        else:
            rules_with_uuids.append(rule)
    return rules_with_uuids


def _with_canonical_uuid(rule: Rule) -> Rule:
    """Return a rule with its UUID in lower case and with hyphens.

    This is the notation of Ironic. A rule without a UUID, or with another
    value in its place, is returned unchanged. Ironic will refuse that value,
    unless it is empty.
    """
    written_uuid = rule.get('uuid')
    if isinstance(written_uuid, str) and uuidutils.is_uuid_like(written_uuid):
        return {**rule, 'uuid': str(uuid.UUID(written_uuid))}
    return rule


def rules_after_apply(
    rules: Sequence[Rule], in_force: Sequence[Rule], prune: bool
) -> list[Rule]:
    """Return the rules that would be in force after files are applied.

    A rule of the files takes the place of the rule with the same UUID. Other
    rules of the files come last. Built-in rules stay. Stored rules that are
    not in the files stay unless ``prune`` is true.

    :param rules: the rules of the files, with UUIDs; see :func:`with_uuids`.
    :param in_force: the rules that are in force now, in order.
    """
    # Rules of the files that have no place yet, by UUID.
    remaining = {str(rule['uuid']): rule for rule in rules}
    after_apply = []
    for rule in in_force:
        if rule['uuid'] in remaining:
            after_apply.append(remaining.pop(rule['uuid']))
        elif rule['built_in'] or not prune:
            after_apply.append(rule)
    new_rules = remaining.values()
    return [*after_apply, *new_rules]


def lint_rule(rule: dict[str, Any]) -> list[str]:
    """Return the messages of lint's warnings about a rule that has no file."""
    rule_file = document.parse('-', json.dumps([rule]))
    warnings = _lint_documents([rule_file], table_file.NO_TABLES)
    return [finding.message for finding in warnings]


def _lint_documents(
    documents: Sequence[document.Document], tables: table_file.FileTables
) -> list[lint.Finding]:
    """Return the warnings of lint about the rules of files.

    Errors of lint are skipped, because Ironic refuses rules with errors, and
    says why. A warning about a sensitive rule must not quote the rule,
    because more people read the output of a command than the file. Therefore
    its message is replaced by a description of the mistake.

    :param documents: the parsed files.
    :param tables: the tables of the files, which rules may look up.
    """
    # A finding names its rule by the path of the file and the label of the
    # rule, e.g. ('rules.yaml', 'Note vendors').
    sensitive_rules = set()
    for rule_file in documents:
        for rule in file_rule.list_rules(rule_file):
            if stored_rule.is_posted_sensitive(rule.entry):
                sensitive_rules.add((rule.source.path, rule.label))
    warnings = []
    findings = lint.lint_documents(
        documents, registry.installed(), given_tables=tables
    )
    for finding in lint.sort_findings(findings):
        if finding.level != lint.WARNING:
            continue
        if finding.check == lint.BUILT_IN_ONLY:
            # The rule has a field that only built-in rules may have. Ironic
            # refuses it.
            continue
        is_sensitive = (finding.path, finding.rule) in sensitive_rules
        # Messages of all checks but this one may quote the rule.
        may_quote_rule = finding.check != lint.READABLE_SECRET
        if is_sensitive and may_quote_rule:
            message = _(
                '%(mistake)s "ironic-inspection-rules lint" says where'
            ) % {'mistake': lint.DESCRIPTIONS[finding.check]}
            warnings.append(dataclasses.replace(finding, message=message))
        else:
            warnings.append(finding)
    return warnings
