# SPDX-License-Identifier: Apache-2.0

"""Load rule files for a command: warnings of lint, refusals and UUIDs."""

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
    """Read rule files, and print the first warnings of lint about them.

    After the first 50 warnings, only the number of the others is printed.

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
    # From now on the tables are only sent. Data that were built for the checks
    # would use memory until the command ends.
    return dataclasses.replace(files, tables=files.tables.without_built())


@contextlib.contextmanager
def explain_refusal(
    baremetal: Any, files: file_set.RuleFiles
) -> Iterator[None]:
    """Name file and line in the error if a request refuses rules.

    This is a context manager around requests that send the rules. An error
    that is not about rules, e.g. of a broken server, is raised unchanged.

    :param files: the source of the rules that are sent.
    :raises: CommandError instead of the exception of openstacksdk or this
        package.
    """
    try:
        yield
    except exceptions.InvalidRules as exc:
        # The rules were refused locally, before a request was sent.
        lines = files.format_problems(exc.problems)
        raise osc_exceptions.CommandError(lines or str(exc)) from exc
    except sdk_exceptions.HttpException as exc:
        if exc.response is None or exc.response.status_code >= 500:
            raise
        if not inspection_rule.has_plugin(baremetal):
            # The base class of all commands reports that the plugin is
            # missing.
            raise
        # This is empty if Ironic refuses the request for another reason.
        lines = files.format_problems(http.read_problems(exc))
        raise osc_exceptions.CommandError(
            lines or exc.details or str(exc)
        ) from exc


def with_uuids(rules: Sequence[Rule], in_force: Sequence[Rule]) -> list[Rule]:
    """Return the rules of files so that all of them have a UUID.

    A rule that ``apply`` would store instead of another rule gets the UUID of
    that rule. Any other rule without a UUID gets a new UUID here, because the
    results of evaluations refer to rules by UUID, and the caller would not
    know a UUID that the server generates.

    :param rules: the rules of the files.
    :param in_force: rules with conditions and actions. A rule without a UUID
        is matched by these if it has no description that is unique.
    """
    rules_of_files = [_with_canonical_uuid(rule) for rule in rules]
    # "apply" does not replace built-in rules.
    stored_rules = [rule for rule in in_force if not rule['built_in']]
    # A rule is matched by UUID; without a UUID by description if it is unique,
    # or otherwise by the whole content.
    matches = replacement.match(rules_of_files, stored_rules)
    rules_with_uuids: list[Rule] = []
    for rule, match in zip(rules_of_files, matches, strict=True):
        if match:
            uuid_of_replaced = match.rule['uuid']
            rules_with_uuids.append({**rule, 'uuid': uuid_of_replaced})
        elif rule.get('uuid') in (None, ''):
            rules_with_uuids.append({**rule, 'uuid': str(uuid.uuid4())})
        else:
            rules_with_uuids.append(rule)
    return rules_with_uuids


def _with_canonical_uuid(rule: Rule) -> Rule:
    """Return a rule with its UUID in the notation of Ironic, if it has one.

    Ironic uses lower case and hyphens. A text that is not a UUID is unchanged,
    because Ironic refuses it.
    """
    text = rule.get('uuid')
    if isinstance(text, str) and uuidutils.is_uuid_like(text):
        return {**rule, 'uuid': str(uuid.UUID(text))}
    return rule


def rules_after_apply(
    rules: Sequence[Rule], in_force: Sequence[Rule], prune: bool
) -> list[Rule]:
    """Return the rules that would be in force after files are applied.

    :param rules: the rules of the files, with UUIDs; see :func:`with_uuids`.
    :param in_force: the rules that are in force now.
    :param prune: whether stored rules that are not in the files are removed.
    """
    not_placed = {str(rule['uuid']): rule for rule in rules}
    after_apply = []
    for rule in in_force:
        if rule['uuid'] in not_placed:
            # Rules run in this order, so a rule takes the place of the rule
            # that it replaces.
            after_apply.append(not_placed.pop(rule['uuid']))
        elif rule['built_in'] or not prune:
            after_apply.append(rule)
    # Rules that replace no other rule are stored last.
    new_rules = not_placed.values()
    return [*after_apply, *new_rules]


def lint_rule(rule: dict[str, Any]) -> list[str]:
    """Return the warnings of lint about a rule that is in no file."""
    rule_file = document.parse('-', json.dumps([rule]))
    warnings = _lint_documents([rule_file], table_file.NO_TABLES)
    return [finding.message for finding in warnings]


def _lint_documents(
    documents: Sequence[document.Document], tables: table_file.FileTables
) -> list[lint.Finding]:
    """Return the warnings of lint about rules.

    Errors are skipped, because Ironic refuses such rules with a reason. A
    warning about a sensitive rule only names the kind of mistake, because
    others may read the output of a command, but not the rule.

    :param tables: the tables of the files.
    """
    # Rules are identified by the path of their file and their label.
    sensitive_rules = set()
    for rule_file in documents:
        for rule in file_rule.list_rules(rule_file):
            if stored_rule.is_posted_sensitive(rule.entry):
                sensitive_rules.add((rule.source.path, rule.label))
    warnings = []
    findings = lint.of_documents(
        documents, registry.installed(), given_tables=tables
    )
    for finding in lint.in_order(findings):
        if finding.level != lint.WARNING:
            continue
        if finding.check == lint.BUILT_IN_ONLY:
            # Ironic refuses fields that only built-in rules may have.
            continue
        is_sensitive = (finding.path, finding.rule) in sensitive_rules
        # The message of READABLE_SECRET does not contain any part of the rule.
        shows_content = finding.check != lint.READABLE_SECRET
        if is_sensitive and shows_content:
            message = _(
                '%(mistake)s "ironic-inspection-rules lint" says where'
            ) % {'mistake': lint.DESCRIPTIONS[finding.check]}
            warnings.append(dataclasses.replace(finding, message=message))
        else:
            warnings.append(finding)
    return warnings
