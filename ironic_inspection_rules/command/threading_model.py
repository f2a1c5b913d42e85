# SPDX-License-Identifier: Apache-2.0

"""The threading model of Ironic's commands, which is threads.

It is picked before anything else of Ironic or oslo.service is imported.
"""

import warnings

# Libraries still import what nothing here uses.
warnings.filterwarnings('ignore', r'\s*Eventlet is deprecated')

import ironic.command  # noqa: E402,F401
