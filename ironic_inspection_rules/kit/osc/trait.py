# SPDX-License-Identifier: Apache-2.0

"""Commands for traits: ``node trait find`` and ``trait list``.

A trait is a property of a node that Nova matches with flavors, e.g.
``CUSTOM_BIG``. ``node trait find`` lists nodes by their traits. ``trait list``
lists traits, and the number of nodes that have each of them.
"""

from ironicclient.v1 import resource_fields
from osc_lib import exceptions
from osc_lib.cli import format_columns

from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.kit.client import node
from ironic_inspection_rules.kit.client import trait
from ironic_inspection_rules.kit.osc import command

_FIELDS = ('uuid', 'name', 'provision_state', 'traits')


class FindNodes(command.Lister):
    """List the nodes that have certain traits, or lack them."""

    example = '--trait CUSTOM_BIG'

    def add_arguments(self, parser):
        for option, help_text in (
            ('trait', _('Only nodes that have all of these')),
            ('trait-any', _('Only nodes that have at least one of these')),
            ('not-trait', _('Only nodes that do not have all of these')),
            ('not-trait-any', _('Only nodes that have none of these')),
        ):
            parser.add_argument(
                f'--{option}',
                metavar='<trait>',
                nargs='+',
                action='extend',
                default=[],
                help=help_text,
            )
        parser.add_argument(
            '--fields',
            metavar='<field>',
            nargs='+',
            action='extend',
            choices=resource_fields.NODE_DETAILED_RESOURCE.fields,
            help=_('Fields to show'),
        )

    def take_action(self, parsed_args):
        """List the nodes that fit the given traits, with the wanted fields.

        A node must fit all options that are given, e.g. ``--trait`` and
        ``--not-trait``. Without ``--fields``, the fields are UUID, name,
        provision state and traits.

        :returns: the titles of the columns, and one row per node.
        :raises: CommandError if no trait is given, because the list would have
            all nodes.
        """
        filters = {}
        for name, traits in (
            ('traits', parsed_args.trait),
            ('traits-any', parsed_args.trait_any),
            ('not-traits', parsed_args.not_trait),
            ('not-traits-any', parsed_args.not_trait_any),
        ):
            if traits:
                filters[name] = ','.join(traits)
        if not filters:
            raise exceptions.CommandError(
                _('Give at least one trait to look for.')
            )
        fields = parsed_args.fields or list(_FIELDS)
        # Only the latest version of the API has all fields that may be chosen.
        nodes = node.nodes(
            self.baremetal, filters, fields, microversion='latest'
        )
        rows = []
        for found in nodes:
            row = []
            for field in fields:
                cell = found.get(field)
                if isinstance(cell, list):
                    # A table joins the items. JSON still has the list.
                    cell = format_columns.ListColumn(cell)
                row.append(cell)
            rows.append(row)
        titles = resource_fields.Resource(fields).labels
        return titles, rows


class ListTraits(command.Lister):
    """List traits with the number of nodes that have each."""

    example = '--associated'

    def add_arguments(self, parser):
        parser.add_argument(
            '--name',
            metavar='<name>',
            help=_(
                'Only these traits: "startswith:<prefix>" or '
                '"in:<trait>,<trait>"'
            ),
        )
        # Both options set "associated". It is None if neither is given, which
        # lists all traits.
        associated = parser.add_mutually_exclusive_group()
        associated.add_argument(
            '--associated',
            action='store_true',
            default=None,
            help=_('Only traits that some node has'),
        )
        associated.add_argument(
            '--unassociated',
            action='store_false',
            dest='associated',
            default=None,
            help=_('Only traits that no node has'),
        )

    def take_action(self, parsed_args):
        """Return the titles of the columns, and one row per trait."""
        traits = trait.traits(
            self.baremetal,
            name=parsed_args.name,
            associated=parsed_args.associated,
        )
        rows = [(counted['name'], counted['nodes']) for counted in traits]
        return (_('Name'), _('Nodes')), rows
