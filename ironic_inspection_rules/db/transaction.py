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

"""Transactions on the database that Ironic is configured with."""

from collections.abc import Callable
import contextlib
import threading
from typing import Any

from oslo_db import api as oslo_db_api
from oslo_db.sqlalchemy import enginefacade
import sqlalchemy as sa
from sqlalchemy import orm

_CONTEXT = threading.local()


def reader() -> contextlib.AbstractContextManager[orm.Session]:
    """Open a transaction that only reads, through Ironic's engine."""
    return enginefacade.reader.using(_CONTEXT)


def writer() -> contextlib.AbstractContextManager[orm.Session]:
    """Open a transaction, through Ironic's engine."""
    return enginefacade.writer.using(_CONTEXT)


def plain_writer() -> contextlib.AbstractContextManager[sa.Connection]:
    """Open a transaction without a session, which takes less time."""
    return enginefacade.writer.connection.using(_CONTEXT)


def _is_sqlite_lock(exc: Exception) -> bool:
    return 'database is locked' in str(exc)


def retried(function: Callable[..., Any]) -> Callable[..., Any]:
    """Repeat a transaction that lost against another one."""
    return oslo_db_api.wrap_db_retry(
        max_retries=10, retry_interval=0.05, max_retry_interval=1,
        jitter=True, retry_on_deadlock=True,
        exception_checker=_is_sqlite_lock)(function)
