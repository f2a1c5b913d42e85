# SPDX-License-Identifier: Apache-2.0

"""Errors of Ironic with the places of rules in their files."""

from collections.abc import Iterator
import contextlib
from typing import Any

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions as osc_exceptions

from ironic_inspection_rules.client import inspection_rule
from ironic_inspection_rules.i18n import _
from ironic_inspection_rules.rule_file import origin

_SWITCHED_OFF = _("Ironic's API runs without this plugin: name it in "
                  'ironic.conf ([api]middleware = inspection-rules) and '
                  'restart the API')


@contextlib.contextmanager
def explained(baremetal: Any, files: origin.RuleFiles) -> Iterator[None]:
    """Name file and line of a rule that Ironic refuses.

    :param files: where the rules that are sent come from.
    :raises: CommandError in place of what openstacksdk raises.
    """
    try:
        yield
    except sdk_exceptions.HttpException as exc:
        if exc.response is None or exc.response.status_code >= 500:
            raise
        if not inspection_rule.is_served(baremetal):
            raise osc_exceptions.CommandError(_SWITCHED_OFF) from exc
        raise osc_exceptions.CommandError(
            files.explain(exc.details or str(exc))) from exc
