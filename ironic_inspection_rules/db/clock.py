# SPDX-License-Identifier: Apache-2.0

"""The clock of the database, which all hosts share.

The clocks of hosts may differ. Therefore all hosts decide by this clock, e.g.
whether a lease has ended.
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
    # Do not use unixepoch(), which has only whole seconds before SQLite 3.42.
    # 1970 began at the Julian day 2440587.5, and a day has 86,400 seconds.
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiler.compiles(now, 'mysql')
@compiler.compiles(now, 'mariadb')
def _mysql(element: now, compiler: Any, **kwargs: Any) -> str:
    # Do not use UNIX_TIMESTAMP(NOW(6)), because it repeats the hour in which
    # daylight saving time ends.
    return (
        "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
        ' / 1000000.0)'
    )


@compiler.compiles(now, 'postgresql')
def _postgresql(element: now, compiler: Any, **kwargs: Any) -> str:
    # Do not use now(), because it stays the same throughout a transaction.
    return (
        'CAST(EXTRACT(EPOCH FROM statement_timestamp()) AS DOUBLE PRECISION)'
    )
