# SPDX-License-Identifier: Apache-2.0

"""The plugin in Ironic's own unit tests, loaded as in production."""

from collections.abc import Callable
from typing import Any

from ironic.conf import api as api_conf
from ironic.conf import inspector as inspector_conf
from ironic.tests.unit.db import base as db_base
from oslo_config import cfg

from ironic_inspection_rules import hook
from ironic_inspection_rules.db import migration
from ironic_inspection_rules.inspection import start


def switch_on() -> None:
    """Have every test of Ironic that has a database run with the plugin.

    As ironic.conf would, by its names; the tables are made where Ironic's
    tests make theirs, and the conductor's part is there before a test begins.
    """
    cfg.set_defaults(api_conf.opts, middleware=['inspection-rules'])
    cfg.set_defaults(
        inspector_conf.opts, hooks='$default_hooks,inspection-rules'
    )
    _before(db_base.Database, 'post_migrations', migration.upgrade)
    _after(db_base.DbTestCase, 'setUp', _start)


def _start() -> None:
    start.rules.cache_clear()
    hook.prepare_conductor()


def _before(owner: type, name: str, call: Callable[[], Any]) -> None:
    stock = getattr(owner, name)

    def method(self: Any) -> None:
        call()
        stock(self)

    setattr(owner, name, method)


def _after(owner: type, name: str, call: Callable[[], Any]) -> None:
    stock = getattr(owner, name)

    def method(self: Any) -> None:
        stock(self)
        call()

    setattr(owner, name, method)
