# SPDX-License-Identifier: Apache-2.0

"""The clock of the database, the one that all hosts share.

Hosts may disagree about the time; what several of them decide by it is
decided by this clock.
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
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiler.compiles(now, 'mysql')
@compiler.compiles(now, 'mariadb')
def _mysql(element: now, compiler: Any, **kwargs: Any) -> str:
    # Not UNIX_TIMESTAMP(NOW(6)), which repeats the hour in which daylight
    # saving ends.
    return ("(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
            " / 1000000.0)")


@compiler.compiles(now, 'postgresql')
def _postgresql(element: now, compiler: Any, **kwargs: Any) -> str:
    return ('CAST(EXTRACT(EPOCH FROM statement_timestamp())'
            ' AS DOUBLE PRECISION)')
