# SPDX-License-Identifier: Apache-2.0

"""Selects Ironic's threading backend for a command.

A command must import this module before any other module of Ironic or
oslo.service.
"""

import importlib.util
import os
import sys
import warnings

from ironic_inspection_rules.i18n import _

if importlib.util.find_spec('ironic') is None:
    sys.exit(
        _(
            '%s: there is no Ironic in this Python, and without one only '
            'ironic-inspection-rules and the commands of the openstack '
            'client work; pip install "ironic-inspection-rules[ironic]" '
            'brings one'
        )
        % os.path.basename(sys.argv[0])
    )

# Hide this warning, because some libraries still import Eventlet.
warnings.filterwarnings('ignore', r'\s*Eventlet is deprecated')

import ironic.command  # noqa: E402,F401
