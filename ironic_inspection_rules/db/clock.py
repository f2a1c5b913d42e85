# SPDX-License-Identifier: Apache-2.0

"""The clock of the database, the one that all hosts share.

Clocks of hosts may differ. What several hosts decide by the time, such as
when a lease ends, they decide by this clock.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import compiler
from sqlalchemy.sql import functions


class now(functions.FunctionElement):
    """Seconds since the epoch, the same throughout a statement."""

    type = sa.Double()
    inherit_cache = True


@compiler.compiles(now, 'sqlite')
def _sqlite(element: now, compiler: Any, **kwargs: Any) -> str:
    # Not unixepoch(), which has only whole seconds before SQLite 3.42. 1970
    # began at the Julian day 2440587.5, and a day has 86,400 seconds.
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiler.compiles(now, 'mysql')
@compiler.compiles(now, 'mariadb')
def _mysql(element: now, compiler: Any, **kwargs: Any) -> str:
    # Not UNIX_TIMESTAMP(NOW(6)), which repeats the hour in which daylight
    # saving ends.
    return (
        "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
        ' / 1000000.0)'
    )


@compiler.compiles(now, 'postgresql')
def _postgresql(element: now, compiler: Any, **kwargs: Any) -> str:
    # Not now(), which stands still throughout a transaction.
    return (
        'CAST(EXTRACT(EPOCH FROM statement_timestamp()) AS DOUBLE PRECISION)'
    )
