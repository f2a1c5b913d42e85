# SPDX-License-Identifier: Apache-2.0

"""The descriptions of the language's words that editors show."""

import re
import typing

from ironic_inspection_rules.i18n import _

RULE = {
    'uuid': _('What names the rule for ever; made by the API if absent.'),
    'description': _('What names the rule to people.'),
    'priority': _('Rules with a higher one run first; 0 to 9999.'),
    'scope': _('The rule runs only for nodes with this value of '
               'properties.inspection_scope.'),
    'sensitive': _('Whether the rule is hidden from who reads it, for ever.'),
    'phase': _('When it runs: early (before the node is known), preprocess '
               '(before the hooks) or main (after them).'),
    'mode': _('enforce; audit: only recorded what it would do; off: never '
              'runs.'),
    'conditions': _('The rule runs where all of these hold.'),
    'actions': _('What it does, in this order.'),
    'vars': _('Values by name, computed before the conditions: '
              '{vars.name}.'),
}

OPERATION = {
    'op': _('What is checked or done.'),
    'args': _('The arguments of the op by name.'),
    'loop': _('A list, or a field that is one: once for each {item}.'),
    'multiple': _('For how many items of the loop it must hold.'),
    'conditions': _('The conditions that the group is made of.'),
    'when': _('The action is carried out only where all of these hold; in a '
              'loop asked for each {item}.'),
    'revert': _('Whether the action is undone where the rule does not '
                'match.'),
}

ARGUMENTS = {
    'path': _('Where: a pointer such as /extra/rack; /- appends to a list.'),
    'value': _('The value; text that is exactly one {field} keeps its type.'),
    'values': _('The values, which may be {fields}.'),
    'regex': _('A regular expression of Python.'),
    'address': _('An IP address, mostly a {field}.'),
    'subnet': _('A subnet, such as 10.0.0.0/8 or fd00::/8.'),
    'force_strings': _('Whether all values are compared as text.'),
    'msg': _('The message; may hold {fields}.'),
    'maintenance': _('Whether the node is also put into maintenance.'),
    'level': _('debug, info, warning, error or critical.'),
    'unique': _('Whether a value that is in the list is left out.'),
    'cleanup': _('What is set where the rule does not match.'),
    'port_id': _('The MAC address or UUID of a port.'),
    'name': _('The name of a trait or a capability.'),
    'names': _('Names of traits.'),
    'prefix': _('Only traits that begin with it are replaced.'),
    'url': _('An http or https URL.'),
    'headers': _('Headers of the request by name.'),
    'proxies': _('Proxies by scheme.'),
    'timeout': _('Seconds to wait for an answer.'),
    'retries': _('How often it is tried again.'),
    'backoff_factor': _('Seconds between tries, doubled each time.'),
}


def of_plugin(instance: typing.Any) -> str:
    """Return what the first line of a plugin's docstring says."""
    text = (type(instance).__doc__ or '').strip().partition('\n\n')[0]
    text = re.sub(r'^``[^`]+``:\s*', '', ' '.join(text.split()))
    text = text.replace('``', '"')
    return text[:1].upper() + text[1:]
