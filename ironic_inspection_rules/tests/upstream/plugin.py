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

"""The plugin in Ironic's own unit tests, loaded as in production."""

from collections.abc import Callable
from typing import Any

from ironic.conf import api as api_conf
from ironic.conf import inspector as inspector_conf
from ironic.tests.unit.db import base as db_base
from oslo_config import cfg

from ironic_inspection_rules.db import migration
from ironic_inspection_rules.inspection import start


def switch_on() -> None:
    """Have every test of Ironic that has a database run with the plugin.

    As ironic.conf would, by its names; the tables are made where Ironic's
    tests make theirs, and the conductor's part is there before a test begins.
    """
    cfg.set_defaults(api_conf.opts, middleware=['inspection-rules'])
    cfg.set_defaults(inspector_conf.opts,
                     hooks='$default_hooks,inspection-rules')
    _before(db_base.Database, 'post_migrations', migration.upgrade)
    _after(db_base.DbTestCase, 'setUp', _start)


def _start() -> None:
    start.rules.cache_clear()
    start.conductor()


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
