# SPDX-License-Identifier: Apache-2.0

"""Which microversions have this project's resources."""

from ironic.api import validation
from ironic.api.controllers.v1 import versions
from webob import exc as webob_exc

from ironic_inspection_rules.i18n import _

_REFUSAL = _('Inspection rules need API version 1.%d or newer; ask for it in '
             'the header X-OpenStack-Ironic-API-Version') % (
                 versions.MINOR_96_INSPECTION_RULES)

since_inspection_rules = validation.api_version(
    versions.MINOR_96_INSPECTION_RULES, message=_REFUSAL,
    exception_class=webob_exc.HTTPMethodNotAllowed)
"""Answers an older request with 405."""

since_inspection_rules_get = validation.api_version(
    versions.MINOR_96_INSPECTION_RULES, message=_REFUSAL)
"""Answers an older GET request with 404."""
