# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
