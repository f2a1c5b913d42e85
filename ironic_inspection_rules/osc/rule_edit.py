# SPDX-License-Identifier: Apache-2.0

"""``openstack baremetal inspection rule edit``: every field of one rule."""

from typing import Any

from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.engine import model
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.osc import command
from ironic_inspection_rules.osc import rule_files
from ironic_inspection_rules.rule_file import document


class EditInspectionRule(command.ShowOne):
    """Make or change an inspection rule, with all fields there are."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'rule', metavar='<rule>', nargs='?',
            help=_('UUID of the rule to change, or its description where no '
                   'other has it; a new rule is made if not given'))
        parser.add_argument('--uuid', metavar='<uuid>',
                            help=_('UUID of a new rule'))
        for name, text in (
                ('description', _('Text for people; "" for none')),
                ('priority', _('0 to 9999; the highest runs first')),
                ('scope', _('Inspection scope of the nodes that the rule runs'
                            ' on; "" for all nodes'))):
            parser.add_argument(f'--{name}', metavar=f'<{name}>', help=text)
        parser.add_argument('--sensitive', action='store_true', default=None,
                            help=_('Hide conditions and actions for ever'))
        parser.add_argument('--phase', choices=model.PHASES,
                            help=_('When the rule runs'))
        parser.add_argument('--mode', choices=model.MODES,
                            help=_('What the rule does'))
        for name in model.OPERATIONS:
            parser.add_argument(
                f'--{name}', metavar='<list>',
                help=_('A list of %s, or a file, YAML or JSON') % name)
        parser.add_argument(
            '--vars', metavar='<mapping>',
            help=_('A mapping of names to values, or a file, YAML or JSON'))
        return parser

    def take_action(self, parsed_args):
        baremetal = self.baremetal
        fields = _given(parsed_args)
        if parsed_args.rule is None:
            shown = inspection_rule.create_inspection_rule(baremetal, fields)
        elif 'uuid' in fields:
            raise osc_exceptions.CommandError(
                _('The UUID of a rule cannot be changed'))
        else:
            uuid = inspection_rule.find_inspection_rule(
                baremetal, parsed_args.rule)
            shown = inspection_rule.update_inspection_rule(
                baremetal, uuid, fields)
        rule = {name: shown.get(name) for name in model.WRITABLE} | fields
        for warning in rule_files.warnings(rule):
            self.app.stderr.write(_('Warning: %s\n') % warning)
        names = (*model.FIELDS, 'created_at', 'updated_at')
        return names, [shown.get(name) for name in names]


def _given(parsed_args: Any) -> dict[str, Any]:
    """Return the fields that the command line sets."""
    fields = {name: getattr(parsed_args, name) for name in model.WRITABLE
              if getattr(parsed_args, name) is not None}
    for name in ('description', 'scope'):
        if fields.get(name) == '':
            fields[name] = None
    for name in {*model.HIDDEN} & {*fields}:
        given = fields[name]
        # As the shipped commands tell them apart.
        is_text = given.lstrip().startswith(('[', '{'))
        if name == model.VARS:
            fields[name] = document.load_mapping(
                *(('--vars', given) if is_text else (given,)))
        else:
            fields[name] = list((document.parse(f'--{name}', given) if is_text
                                 else document.load(given)).entries)
    return fields
