# SPDX-License-Identifier: Apache-2.0

"""Commands for rules: get, edit, import, export, purge and evaluate.

The rules in force are the stored rules, which users write, and the built-in
rules, which the operator has configured. A rule is JSON data, e.g. ``{'uuid':
…, 'description': 'Note the vendor', 'conditions': […], 'actions': […], …}``.
For a sensitive rule, Ironic returns null instead of its conditions and
actions.
"""

import collections
from collections.abc import Iterable
import json
from typing import Any

from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules import exceptions
from ironic_inspection_rules.engine.language import model
from ironic_inspection_rules.engine.language.secrecy import disclosure
from ironic_inspection_rules.engine.language.secrecy import stored_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import inspection_rule
from ironic_inspection_rules.kit.client import inspection_table
from ironic_inspection_rules.kit.client import rule_set
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.osc import command
from ironic_inspection_rules.kit.osc import fleet_evaluation
from ironic_inspection_rules.kit.osc import rule_files
from ironic_inspection_rules.kit.osc import rule_set as rule_set_commands
from ironic_inspection_rules.kit.terminal import table
from ironic_inspection_rules.rule_file import document
from ironic_inspection_rules.rule_file import file_set
from ironic_inspection_rules.rule_file import yaml_text

EXIT_FAILED = 2
"""The status of ``evaluate`` if the inspection would fail."""


_FIELDS_OF_ANSWER = (*model.FIELDS, 'created_at', 'updated_at')


class GetInspectionRule(command.ShowOne):
    """Show an inspection rule, by its UUID or its description."""

    example = "'Note the vendor'"

    def add_arguments(self, parser):
        parser.add_argument(
            'rule',
            metavar='<rule>',
            help=_('UUID of the rule, or its description if that is unique'),
        )
        parser.add_argument(
            '--fields',
            metavar='<field>',
            nargs='+',
            action='extend',
            default=[],
            choices=_FIELDS_OF_ANSWER,
            help=_('Fields to show; all fields if not given'),
        )

    def take_action(self, parsed_args):
        """Read the rule, and return its fields sorted by name.

        :returns: two values: the names of the fields, and their values.
        """
        baremetal = self.baremetal
        uuid = inspection_rule.find_inspection_rule(
            baremetal, parsed_args.rule
        )
        rule = inspection_rule.get_inspection_rule(
            baremetal, uuid, parsed_args.fields
        )
        rule.pop('links', None)
        sorted_fields = dict(sorted(rule.items()))
        return self.dict2columns(sorted_fields)


# Help texts of "edit" that differ from the description of the field.
_HELP = {
    'uuid': _('UUID of a new rule'),
    'description': _('Text for people; "" for none'),
    'priority': _('0 to 9999; the highest runs first'),
    'scope': _(
        'Inspection scope of the nodes that the rule runs on; "" for all nodes'
    ),
    'sensitive': _(
        'Never show conditions, actions and vars of the rule again; this '
        'cannot be undone'
    ),
    'vars': _('A mapping of names to values, or a file, YAML or JSON'),
    **{
        name: _('A list of %s, or a file, YAML or JSON') % name
        for name in model.OPERATIONS
    },
}
_METAVARS = {
    model.VARS: '<mapping>',
    **dict.fromkeys(model.OPERATIONS, '<list>'),
}


class EditInspectionRule(command.ShowOne):
    """Create an inspection rule, or change the given fields of one."""

    example = "'Note the vendor' --mode audit"

    def add_arguments(self, parser):
        parser.add_argument(
            'rule',
            metavar='<rule>',
            nargs='?',
            help=_(
                'UUID of the rule to change, or its description if that '
                'is unique; a new rule is created if not given'
            ),
        )
        # Add an option for every field that users may set, e.g. "--scope".
        for name, field in model.SETTABLE.items():
            if field.type is bool:
                # By default the field stays unchanged, so the value is None
                # and not False.
                options: dict[str, Any] = {
                    'action': 'store_true',
                    'default': None,
                }
            elif 'choices' in field.metadata:
                options = {'choices': field.metadata['choices']}
            else:
                options = {'metavar': _METAVARS.get(name, f'<{name}>')}
            help_text = _HELP.get(name, field.metadata['help'])
            parser.add_argument(f'--{name}', help=help_text, **options)

    def take_action(self, parsed_args):
        """Create a rule, or change the given fields of a rule.

        A new rule is created if no rule is named. Then warnings of lint about
        the rule are printed on standard error. There is another warning if the
        answer has no UUID.

        :returns: two values: the names of the fields, and the values that the
            rule has afterwards.
        :raises: CommandError if a rule and ``--uuid`` are given.
        """
        baremetal = self.baremetal
        fields = _read_fields(parsed_args)
        if parsed_args.rule is None:
            answer = inspection_rule.create_inspection_rule(baremetal, fields)
        elif 'uuid' in fields:
            raise osc_exceptions.CommandError(
                _(
                    'The UUID of a rule cannot be changed; without <rule>, '
                    '--uuid gives it to a new one'
                )
            )
        else:
            uuid = inspection_rule.find_inspection_rule(
                baremetal, parsed_args.rule
            )
            answer = inspection_rule.update_inspection_rule(
                baremetal, uuid, fields
            )
        if answer.get('uuid') is None:
            # The change stands, so this is not an error.
            self.app.stderr.write(
                _('Warning: %s\n') % inspection_rule.UUID_UNKNOWN
            )
        # For a sensitive rule, the answer has null instead of its content.
        # Lint checks the content that the user has just set.
        rule = {name: answer.get(name) for name in model.WRITABLE}
        rule.update(fields)
        for warning in rule_files.lint_rule(rule):
            self.app.stderr.write(_('Warning: %s\n') % warning)
        values = [answer.get(name) for name in _FIELDS_OF_ANSWER]
        return _FIELDS_OF_ANSWER, values


def _read_fields(parsed_args: Any) -> dict[str, Any]:
    """Return the fields of a rule that the options set, as JSON data.

    * ``--priority 10`` becomes ``{'priority': '10'}``.
    * ``--scope ""`` becomes ``{'scope': None}``, which removes the scope.
    * ``--actions actions.yaml`` becomes ``{'actions': […]}``.
    * A field is left out if its option is not given.
    """
    fields: dict[str, Any] = {}
    for name in model.WRITABLE:
        value = getattr(parsed_args, name)
        if value is None:
            continue
        may_be_removed = model.SETTABLE[name].default is None
        if value == '' and may_be_removed:
            fields[name] = None
        elif name in model.CONTENT:
            fields[name] = _read_content(name, value)
        else:
            fields[name] = value
    return fields


def _read_content(name: str, path_or_text: str) -> Any:
    """Read the variables, conditions or actions of a rule from an option.

    The value of the option is the path of a file, as in ``--actions
    actions.yaml``, or the text itself, as in ``--actions '[{"op": "log",
    "args": {"msg": "done"}}]'``.

    :param name: the name of the option, e.g. ``actions``.
    :param path_or_text: the value of the option. It is text if it begins with
        a bracket.
    :returns: a mapping of variables for ``vars``, otherwise a list.
    """
    # python-ironicclient distinguishes text from a path in the same way.
    is_text = path_or_text.lstrip().startswith(('[', '{'))
    path = path_or_text
    text: str | None = None
    if is_text:
        # There is no file, so error messages name the option instead.
        path = f'--{name}'
        text = path_or_text
    if name == model.VARS:
        return document.load_mapping(path, text)
    return list(document.load_list(path, text).entries)


class ImportInspectionRules(command.BaremetalCommand):
    """Create or replace inspection rules from files: all of them or none.

    The same as "apply --yes" without --prune.
    """

    example = 'rules.yaml'

    def add_arguments(self, parser):
        rule_files.add_argument(parser)
        parser.add_argument(
            '--replace',
            action='store_true',
            help=_(
                'Kept for scripts: a rule always replaces the one with '
                'the same UUID or, if it has none, with the same '
                'description'
            ),
        )

    def take_action(self, parsed_args):
        """Store the rules and tables of the files, or none of them.

        If the files would change nothing, no change is requested. Finally, the
        numbers of created, updated and unchanged rules are printed, and the
        warnings of Ironic.
        """
        baremetal = self.baremetal
        files = rule_files.load(parsed_args.files, self.app.stderr)
        with rule_files.explain_refusal(files):
            tables = files.tables.entries
            plan = rule_set.plan(
                baremetal, files.rules, prune=False, tables=tables
            )
            if plan.changes:
                # Send the revision of the plan, so that Ironic refuses the
                # change if somebody else has changed the rules in the
                # meantime.
                answer = rule_set.replace_inspection_rules(
                    baremetal,
                    rules=files.rules,
                    revision=plan.revision,
                    prune=False,
                    tables=tables,
                )
                if not rule_set.has_complete_steps(answer):
                    # The change stands, so this is not an error.
                    self.app.stderr.write(
                        _('Warning: %s\n') % rule_set.CHANGES_UNKNOWN
                    )
        counts = collections.Counter(step['outcome'] for step in plan.steps)
        created = counts['created']
        updated = counts['updated']
        # Do not count the steps with the outcome "unchanged": stored rules
        # that are in none of the files also have such a step.
        unchanged = len(files.rules) - created - updated
        self.app.stdout.write(
            _(
                '%(created)d created, %(updated)d updated, %(unchanged)d '
                'unchanged\n'
            )
            % {'created': created, 'updated': updated, 'unchanged': unchanged}
        )
        rule_set_commands.print_warnings(baremetal, self.app.stderr)


class ExportInspectionRules(command.BaremetalCommand):
    """Write the stored inspection rules and tables, for import.

    Operations of sensitive rules and secret columns of tables are left out;
    an import of the file keeps those that are stored.
    """

    example = 'exported.yaml'

    def add_arguments(self, parser):
        parser.add_argument(
            '--revision',
            metavar='<revision>',
            type=arguments.parse_revision,
            help=_('Write the rules and tables of this revision'),
        )
        parser.add_argument(
            'file',
            metavar='<file>',
            nargs='?',
            default=arguments.STANDARD_OUTPUT,
            help=_(
                'File to write, JSON if its name ends in .json and YAML '
                'otherwise; one that is there is replaced, with its '
                'comments. Standard output if not given, or "-"'
            ),
        )

    def take_action(self, parsed_args):
        """Write the rules and tables to a file or to standard output.

        With ``--revision``, these are the rules and tables of the revision,
        otherwise the stored ones. Sensitive rules are written without
        conditions and actions, and are named on standard error.
        """
        rules, tables = _read_rules_and_tables(
            self.baremetal, parsed_args.revision
        )
        entries = []
        for rule in rules:
            # The conditions and actions of a sensitive rule are null here. If
            # the file is imported, null keeps the stored value.
            entries.append({name: rule[name] for name in model.WRITABLE})
        content: Any = entries
        if tables:
            # Without tables, a rule file is a list of rules. With tables, it
            # must be a mapping.
            content = {'tables': tables, 'rules': entries}
        path = parsed_args.file
        if path.endswith('.json'):
            text = json.dumps(content, indent=2) + '\n'
        else:
            text = yaml_text.dump(content)
        arguments.write(path, text, self.app.stdout)
        for rule in rules:
            if stored_rule.lacks_content(rule):
                self.app.stderr.write(
                    _(
                        'Without operations, as it is sensitive: %(uuid)s '
                        '(%(description)s)\n'
                    )
                    % rule
                )


def _read_rules_and_tables(
    baremetal: Any, revision: int | None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Read the rules and tables to export.

    :param revision: the number of a revision; None for the stored rules and
        tables.
    :returns: two values. The first is a list of rules, as the API returns
        them. The second has tables by name in the form of a rule file, e.g.
        ``{'racks': {'key': 'serial', 'rows': […]}}``.
    """
    if revision is None:
        # Built-in rules are not stored, and cannot be imported.
        in_force = inspection_rule.inspection_rules(baremetal, details=True)
        stored = [rule for rule in in_force if not rule['built_in']]
        return stored, inspection_table.export_tables(baremetal)
    content = rule_set.get_inspection_rule_revision(baremetal, revision)
    tables = {}
    # An API of a release without tables does not return "tables".
    for described in content.get('tables') or ():
        tables[described['name']] = inspection_table.convert_to_file_form(
            described, described['rows']
        )
    return content['rules'], tables


class PurgeInspectionRules(command.BaremetalCommand):
    """Remove all inspection rules except the built-in ones."""

    example = '--yes'

    def add_arguments(self, parser):
        parser.add_argument('--yes', action='store_true', help=_('Do not ask'))

    def take_action(self, parsed_args):
        """Ask for confirmation, and remove the rules.

        :returns: the exit status: 0 if they were removed, 1 if the user
            declined.
        """
        if not rule_set_commands.confirm(
            _('Remove all inspection rules?'), parsed_args.yes
        ):
            return 1
        inspection_rule.delete_all_inspection_rules(self.baremetal)
        return 0


class EvaluateInspectionRules(command.BaremetalCommand):
    """Try inspection rules on machines without changing anything.

    Give --node or --inventory for one machine, or --nodes for many. Returns
    2 if the inspection would fail. With --nodes and --rules it returns 2 if a
    machine would be treated differently than by the rules in force, and 0 if
    none would; being refused by a rule is such a difference. It returns 1 if
    a rule has an error on a machine, or if no machine has stored data.
    """

    example = '--nodes --rules rules.yaml'

    def add_arguments(self, parser):
        parser.add_argument(
            '--node',
            metavar='<node>',
            help=_(
                'Name or UUID of a node; its stored inventory is used '
                'unless one is given'
            ),
        )
        parser.add_argument(
            '--inventory',
            metavar='<file>',
            type=arguments.check_path,
            help=_(
                'File with an inventory, as Ironic stores it or the '
                'ramdisk sends it'
            ),
        )
        parser.add_argument(
            '--rules',
            metavar='<file>',
            nargs='+',
            action='extend',
            help=_('Files with rules to try among those in force'),
        )
        rule_files.add_prune(parser)
        parser.add_argument(
            '--phase',
            metavar='<phase>',
            help=_('Only the rules of this phase: %s')
            % ', '.join(model.PHASES),
        )
        parser.add_argument(
            '-f',
            '--format',
            choices=('table', 'json', 'yaml'),
            default='table',
            help=_('How to print the result'),
        )
        fleet_evaluation.add_arguments(parser)

    def take_action(self, parsed_args):
        """Try rules on the nodes of ``--nodes``, or otherwise on one machine.

        :returns: the exit status, as documented by the class.
        """
        fleet_evaluation.check_options(parsed_args)
        if parsed_args.nodes is not None:
            return fleet_evaluation.run(self, parsed_args)
        request: dict[str, Any] = {
            'node': parsed_args.node,
            'phase': parsed_args.phase,
        }
        # Without files, the rules in force are tried.
        files = file_set.load_all([])
        baremetal = self.baremetal
        if parsed_args.rules:
            files = rule_files.load(parsed_args.rules, self.app.stderr)
            request['rules'] = files.rules
            # None omits the member. An older API, which does not know it,
            # would refuse the request.
            request['prune'] = parsed_args.prune or None
            request['tables'] = files.tables.entries
        if parsed_args.inventory:
            machine = machine_file.load(parsed_args.inventory)
            request['inventory'] = machine.inventory
            request['plugin_data'] = machine.plugin_data
        with rule_files.explain_refusal(files):
            result = inspection_rule.evaluate_inspection_rules(
                baremetal, **request
            )
        if result['result'] not in ('ok', 'failed'):
            # An unknown result must not give the exit status of "ok".
            raise exceptions.Invalid(
                _(
                    "Ironic's answer has the result %s, where ok or failed is "
                    'expected'
                )
                % json.dumps(result['result'])
            )
        self.app.stdout.write(_render(result, parsed_args.format) + '\n')
        if result['result'] == 'failed':
            return EXIT_FAILED
        return 0


def _render(result: dict[str, Any], output_format: str) -> str:
    """Format the result of trying rules on one machine.

    :param output_format: ``table``, ``json`` or ``yaml``.
    """
    if output_format == 'json':
        return json.dumps(result, indent=2)
    if output_format == 'yaml':
        return yaml_text.dump(result)
    return _as_tables(result)


# A condition without a result had an error.
_VERDICTS = {True: _('true'), False: _('false'), None: _('error')}


def _as_tables(result: dict[str, Any]) -> str:
    """Format the result of trying rules on one machine as text for people.

    The parts of the text are, in this order: a table of the rules that were
    tried, a table of the changes that they would make, what rules in mode
    ``audit`` would do, the error of the inspection, and warnings. Nothing is
    shown of a sensitive rule but its UUID and whether it matched.

    :param result: the answer of the API, with ``rules``, ``changes``,
        ``error``, and possibly ``audit`` and ``warnings``.
    """
    lines = [_table_of_rules(result['rules'])]
    audited = result.get('audit') or ()
    if result['changes']:
        lines.append(_table_of_changes(result['changes']))
    if _may_hide_changes(result['rules'], audited):
        lines.append(_('what sensitive rules would change is withheld'))
    elif not result['changes']:
        lines.append(_('nothing would change'))
    for rule in audited:
        if not rule['matched']:
            continue
        if disclosure.is_shown(rule):
            lines += _audit_lines(rule)
        else:
            sensitive_rule = _('a sensitive rule, %s') % rule['uuid']
            lines.append(_('audit: %s') % sensitive_rule)
    if result['error']:
        lines.append(_('The inspection would fail: %s') % result['error'])
    for warning in result.get('warnings') or ():
        lines.append(_('Warning: %s') % warning)
    return '\n'.join(lines)


def _table_of_rules(rules: Iterable[dict[str, Any]]) -> str:
    """Format the rules that were tried on a machine as a table for people.

    A row has the name and the phase of a rule, whether it matched, and why.
    The last cell has a line per condition, e.g. ``eq: false (values=[2, 4])``.
    """
    rows = []
    for rule in rules:
        matched = _('no')
        if rule['matched']:
            matched = _('yes')
        if not disclosure.is_shown(rule):
            why = _('withheld: the rule is sensitive')
            rows.append([rule['uuid'], '', matched, why])
            continue
        condition_lines = []
        for condition in rule['conditions'] or ():
            line = f'{condition["op"]}: {_VERDICTS[condition["result"]]}'
            if condition['reason']:
                line += f' ({condition["reason"]})'
            condition_lines.append(line)
        name = rule['description'] or rule['uuid']
        why = '\n'.join(condition_lines)
        rows.append([name, rule['phase'], matched, why])
    return table.render([_('Rule'), _('Phase'), _('Matched'), _('Why')], rows)


def _may_hide_changes(
    rules: Iterable[dict[str, Any]], audited: Iterable[dict[str, Any]]
) -> bool:
    """Return whether sensitive rules may have changes that are not shown.

    This holds if a sensitive rule was tried, even if it did not match: such a
    rule may undo its earlier changes. It does not hold for a rule in mode
    ``audit``, which changes nothing.

    :param rules: all rules that were tried.
    :param audited: the rules in mode ``audit`` that were tried.
    """
    audited_uuids = {rule['uuid'] for rule in audited}
    for rule in rules:
        changes_machine = rule['uuid'] not in audited_uuids
        is_sensitive = not disclosure.is_shown(rule)
        if changes_machine and is_sensitive:
            return True
    return False


def _audit_lines(rule: dict[str, Any]) -> list[str]:
    """Return lines about what a rule in mode ``audit`` would do.

    These are its name, followed by its changes as a table, its error, or a
    line that says that it would change nothing.

    :param rule: a rule that matched, with ``changes`` and ``error``.
    """
    lines = [_('audit: %s') % (rule['description'] or rule['uuid'])]
    if rule['changes']:
        lines.append(_table_of_changes(rule['changes']))
    if rule['error']:
        lines.append(_('would fail: %s') % rule['error'])
    if not (rule['changes'] or rule['error']):
        lines.append(_('would change nothing'))
    return lines


def _table_of_changes(changes: list[dict[str, Any]]) -> str:
    """Format the changes that rules would make as a table for people.

    :param changes: changes with ``object``, ``op``, ``path`` and ``value``,
        e.g. ``node``, ``add``, ``/extra/rack`` and ``r1``.
    """
    rows = []
    for change in changes:
        value = json.dumps(change['value'], ensure_ascii=False)
        rows.append([change['object'], change['op'], change['path'], value])
    return table.render(
        [_('Object'), _('Change'), _('Path'), _('Value')], rows
    )
