# SPDX-License-Identifier: Apache-2.0

"""The removal of what is too old in the history, as the options say."""

from ironic.conf import CONF
from oslo_db import exception as db_exc
from oslo_log import log

from ironic_inspection_rules.runs import history

LOG = log.getLogger(__name__)

_CLEANER = history.Cleaner()


def clean() -> None:
    """Remove some of the history that is too old.

    An error of the database is logged: the inspection that calls this has
    ended already.
    """
    try:
        _CLEANER.clean(CONF.inspection_rules.keep_history)
    except db_exc.DBError as exc:
        LOG.warning('Old inspections are not removed from the history: %s',
                    exc)
