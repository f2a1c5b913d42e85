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
_MAX_WARNINGS = 50


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
    """Add ``--prune``, which makes the files the whole rule set."""
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

    Of the warnings after the first 50, only the number is printed.

    :raises: :class:`.exceptions.InvalidDocument` if one cannot be read.
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
    # From here on the tables are only sent: what was built for the checks
    # would take memory until the command ends.
    return dataclasses.replace(files, tables=files.tables.without_built())


@contextlib.contextmanager
def explain_refusal(
    baremetal: Any, files: file_set.RuleFiles
) -> Iterator[None]:
    """Name file and line in the error of a request that refuses rules.

    A context manager around requests that send the rules. An error that is
    not about rules, as of a broken server, goes on as it is.

    :param files: the source of the rules that are sent.
    :raises: CommandError instead of openstacksdk's exception, or ours.
    """
    try:
        yield
    except exceptions.InvalidRules as exc:
        # The rules were refused here, before a request.
        lines = files.format_problems(exc.problems)
        raise osc_exceptions.CommandError(lines or str(exc)) from exc
    except sdk_exceptions.HttpException as exc:
        if exc.response is None or exc.response.status_code >= 500:
            raise
        if not inspection_rule.is_served(baremetal):
            # The base class of all commands reports that the plugin is
            # missing.
            raise
        # Empty if Ironic refuses the request for another reason.
        lines = files.format_problems(http.problems(exc))
        raise osc_exceptions.CommandError(
            lines or exc.details or str(exc)
        ) from exc


def with_uuids(rules: Sequence[Rule], in_force: Sequence[Rule]) -> list[Rule]:
    """Return rules of files that all have a UUID.

    A rule that ``apply`` would store in place of another has the UUID of that
    one. Any other rule without a UUID gets a new UUID here. The server would
    make a new one in every request, but the results of a rule come from
    several requests and are added up by its UUID.

    :param rules: the rules of the files.
    :param in_force: rules with conditions and actions: a rule that has
        neither UUID nor description is recognized by them.
    """
    rules_of_files = [_with_canonical_uuid(rule) for rule in rules]
    # "apply" replaces no built-in rule.
    stored_rules = [rule for rule in in_force if not rule['built_in']]
    # A rule matches by UUID; without a UUID by the description, if no other
    # rule has it, or else by the whole content.
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
    """Return a rule with its UUID as Ironic writes it, if it has one.

    Ironic writes lower case and hyphens. A text that is no UUID stays as it
    is: Ironic refuses it.
    """
    text = rule.get('uuid')
    if isinstance(text, str) and uuidutils.is_uuid_like(text):
        return {**rule, 'uuid': str(uuid.UUID(text))}
    return rule


def rules_after_apply(
    rules: Sequence[Rule], in_force: Sequence[Rule], prune: bool
) -> list[Rule]:
    """Return the rules that would be in force if rules of files were applied.

    :param rules: the rules of the files, with UUIDs; see :func:`with_uuids`.
    :param prune: whether stored rules that are not in the files are removed.
    """
    not_placed = {str(rule['uuid']): rule for rule in rules}
    after_apply = []
    for rule in in_force:
        if rule['uuid'] in not_placed:
            # Rules run in this order: a rule takes the place of the rule that
            # it replaces.
            after_apply.append(not_placed.pop(rule['uuid']))
        elif rule['built_in'] or not prune:
            after_apply.append(rule)
    # Rules that replace none are stored last.
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

    Errors are left out, as Ironic refuses such rules and says why. A warning
    about a sensitive rule says only what kind of mistake it is: others may
    read the output of a command, but not the rule.

    :param tables: of the files.
    """
    # A rule is known by the path of its file and its label there.
    sensitive_rules = set()
    for rule_file in documents:
        for rule in file_rule.list_rules(rule_file):
            if stored_rule.is_posted_sensitive(rule.entry):
                sensitive_rules.add((rule.source.path, rule.label))
    warnings = []
    for finding in lint.in_order(
        lint.of_documents(documents, registry.installed(), given_tables=tables)
    ):
        if finding.level != lint.WARNING:
            continue
        if finding.check == lint.BUILT_IN_ONLY:
            # Ironic refuses fields that only built-in rules may have.
            continue
        is_sensitive = (finding.path, finding.rule) in sensitive_rules
        # The message of READABLE_SECRET has nothing of the rule in it.
        shows_content = finding.check != lint.READABLE_SECRET
        if is_sensitive and shows_content:
            message = _(
                '%(mistake)s "ironic-inspection-rules lint" says where'
            ) % {'mistake': lint.DESCRIPTIONS[finding.check]}
            warnings.append(dataclasses.replace(finding, message=message))
        else:
            warnings.append(finding)
    return warnings
