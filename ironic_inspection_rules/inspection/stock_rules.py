# SPDX-License-Identifier: Apache-2.0

"""Rules that stock Ironic would run, and that do not run beside ours."""

from ironic.conf import CONF

from ironic_inspection_rules.db import adoption
from ironic_inspection_rules.db import api
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_set import stock


def left_behind() -> str | None:
    """Tell which rules of stock Ironic nobody has taken over.

    :returns: a message with the command that does, None where there are none.
    """
    places = []
    if count := len(adoption.read_ironic()):
        places.append(_("%d in Ironic's own table") % count)
    path = CONF.inspection_rules.built_in_rules
    if path and not _is_taken_over(path):
        places.append(_('those of [inspection_rules]built_in_rules, %s')
                      % path)
    if not places:
        return None
    return _('Inspection rules of stock Ironic do not run beside this plugin: '
             '%(places)s. "%(command)s adopt" takes them over') % {
                 'places': _(' and ').join(places),
                 'command': migration.COMMAND}


def _is_taken_over(path: str) -> bool:
    try:
        uuids = {rule['uuid'] for rule in stock.load(path)}
    except ValueError:
        return False
    return uuids <= {uuid for uuid, _value in api.list_values('uuid')}
