# SPDX-License-Identifier: Apache-2.0

"""Implement ``profile``, which writes rules from inventories.

A user gives the inventories of some good machines. The rules then accept
similar machines. A machine has components, e.g. ``memory`` and ``disks``. The
tolerance of a component is how far it may differ from the good machines, e.g.
``memory=5%``.
"""

import argparse
import math
import re

from ironic_inspection_rules.engine.run import views
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.i18n import _P
from ironic_inspection_rules.kit.command import arguments
from ironic_inspection_rules.kit.machine import machine_file
from ironic_inspection_rules.kit.machine.profile import component
from ironic_inspection_rules.kit.machine.profile import rules
from ironic_inspection_rules.kit.trial import machine_test
from ironic_inspection_rules.rule_file import yaml_text


class Profile(arguments.FileCommand):
    """Write rules that accept only machines like some good ones, as YAML.

    For any other machine the rules report each component that differs.
    Values that one of the good machines lacks are not compared.
    """

    example = 'machines -o profile.yaml'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add inventories, tolerances, and the consequence of a mismatch."""
        parser.add_argument(
            'inventories',
            metavar='<inventory>',
            nargs='+',
            help=_(
                'File with the inventory of a good machine, or a '
                'directory with such files; what several of them have '
                'makes ranges'
            ),
        )
        parser.add_argument(
            '--name',
            metavar='<name>',
            help=_(
                'What the rules call such machines; their product if not given'
            ),
        )
        parser.add_argument(
            '--tolerance',
            metavar='<component>=<tolerance>',
            nargs='+',
            action='extend',
            default=[],
            type=_check_tolerance,
            help=_(
                'How far a machine may be from the good ones: '
                'memory=5%, disks=1% of their size, disks=1 more or '
                'less of each sort, memory=observed for only what was '
                'seen and nothing between; may be repeated. Components: '
                '{}'
            )
            .replace('%', '%%')
            .format(', '.join(component.COMPONENTS)),
        )
        parser.add_argument(
            '--on-mismatch',
            choices=rules.ON_MISMATCH,
            default=rules.FAIL,
            help=_(
                'Fail inspection, set a trait, or only record what would '
                'have failed'
            ),
        )
        arguments.add_output(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Write rules made from the good machines as YAML.

        The file begins with a comment, e.g. ``# Accepts machines like
        PowerEdge R640. Made from 3 inventories by …``.
        """
        tolerance = component.parse_tolerance(parsed_args.tolerance)
        paths = machine_test.find_inventories(parsed_args.inventories)
        machines = [machine_file.load(path) for path in paths]
        name = parsed_args.name or _name_of_product(machines[0])
        sentence = _P(
            'Accepts machines like %(name)s. Made from %(count)d '
            'inventory by ironic-inspection-rules profile.',
            'Accepts machines like %(name)s. Made from %(count)d '
            'inventories by ironic-inspection-rules profile.',
            len(machines),
        )
        comment = yaml_text.comment(
            sentence % {'name': name, 'count': len(machines)}
        )
        profile_rules = rules.write(
            machines, name, parsed_args.on_mismatch, tolerance
        )
        # The width is infinite, because wrapped templates are hard to read.
        text = yaml_text.dump(profile_rules, width=math.inf)
        arguments.write(parsed_args.output, comment + text, self.app.stdout)
        return 0


def _name_of_product(machine: views.Facts) -> str:
    """Return a name for the good machines: the product of one of them.

    For example, ``PowerEdge R640``. If the machine reports no product, the
    name is ``good machines``.

    :param machine: the inspection data of the first good machine.
    """
    product = component.find(machine, 'inventory.system_vendor.product_name')
    if isinstance(product, str) and product.strip():
        return product.strip()
    return _('good machines')


def _check_tolerance(text: str) -> str:
    """Check that a word has the form of a tolerance, e.g. ``memory=5%``.

    ``--tolerance`` takes several words. If a word is refused here, the shell
    treats it as the file of an inventory instead. So only the form is checked:
    ``memry=5%`` is accepted, and gets its own error later.

    :returns: the word, unchanged.
    :raises: ArgumentTypeError if the word has another form.
    """
    if not re.match('[a-z-]+=', text):
        raise argparse.ArgumentTypeError(
            _('"%s" is no tolerance such as memory=5%%') % text
        )
    return text
