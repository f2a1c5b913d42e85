# SPDX-License-Identifier: Apache-2.0

"""Ironic's API with the plugin, in this process."""

from collections.abc import Callable
import contextlib
from typing import Any

import fixtures
from ironic import objects
from ironic.api import app as ironic_app
from ironic.api.controllers import v1
from ironic.api.controllers.v1 import node
from ironic.conf import CONF
from oslo_config import fixture as config_fixture
import webob
import webob.exc

from ironic_inspection_rules import conf
from ironic_inspection_rules.inspection import start
from ironic_inspection_rules.runs import statistics
from ironic_inspection_rules.tests import database

OWNER, LESSEE, FOREIGNER = 'owner-project', 'lessee-project', 'a-project'

_ROLES = {
    'admin': 'admin,manager,member,reader',
    'manager': 'manager,member,reader',
    'member': 'member,reader',
    'reader': 'reader',
}


def _of_system(roles: str) -> dict[str, str]:
    return {'X-Roles': roles, 'OpenStack-System-Scope': 'all'}


def _of_project(roles: str, project: str) -> dict[str, str]:
    return {'X-Roles': roles, 'X-Project-Id': project}


PERSONAS = {
    **{f'system-{role}': _of_system(roles) for role, roles in _ROLES.items()},
    'system-service': _of_system('service'),
    **{
        f'owner-{role}': _of_project(roles, OWNER)
        for role, roles in _ROLES.items()
    },
    'owner-service': _of_project('service', OWNER),
    **{
        f'lessee-{role}': _of_project(roles, LESSEE)
        for role, roles in _ROLES.items()
    },
    'foreign-admin': _of_project(_ROLES['admin'], FOREIGNER),
    'service': {
        'X-Project-Name': 'service',
        **_of_project('service', 'service-project'),
    },
    'no-role': _of_project('', OWNER),
}
"""Those of Ironic, with the headers that Keystone gives them."""

USERS = {
    **PERSONAS,
    'admin': PERSONAS['system-admin'],
    'reader': PERSONAS['system-reader'],
    'member': _of_project(_ROLES['member'], FOREIGNER),
}
"""Users by their tokens."""


class FakeKeystone:
    """In the place of keystonemiddleware: a token is the name of a user."""

    def __init__(self, app: Callable, conf: Any) -> None:
        self.app = app

    def __call__(self, environ: dict, start_response: Callable) -> Any:
        user = environ.get('HTTP_X_AUTH_TOKEN')
        if user not in USERS:
            return webob.exc.HTTPUnauthorized()(environ, start_response)
        request = webob.Request(environ)
        request.headers.update(
            {
                'X-Identity-Status': 'Confirmed',
                'X-User-Id': user,
                **USERS[user],
            }
        )
        return self.app(environ, start_response)


def has_option(group: str, name: str) -> bool:
    """Tell whether this release of Ironic has an option."""
    return name in getattr(CONF, group)


class Application(fixtures.Fixture):
    """Ironic's API over a database of its own.

    :param options: of ironic.conf, by group.
    :param kind: of the database, see :class:`.database.Database`.
    :ivar app: the WSGI application.
    """

    def __init__(
        self,
        options: dict[str, dict[str, Any]] | None = None,
        kind: str = 'sqlite',
    ) -> None:
        self._options = options or {}
        self._kind = kind

    def _setUp(self) -> None:
        config = self.useFixture(config_fixture.Config(CONF))
        CONF(
            [],
            project='ironic',
            default_config_files=[],
            default_config_dirs=[],
        )
        config.config(
            auth_strategy='noauth', rpc_transport='none', host='host.test'
        )
        config.config(group='api', middleware=['inspection-rules'])
        config.config(
            group='inspector', hooks='ramdisk-error,inspection-rules'
        )
        conf.register_opts(CONF)
        for group, values in self._options.items():
            config.config(
                group=None if group == 'DEFAULT' else group, **values
            )
        tables = self.useFixture(database.Database(self._kind, ironic=True))
        config.config(
            group='database',
            connection=(
                tables.engine.url.render_as_string(hide_password=False)
            ),
        )
        objects.register_all()
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.app.auth_token.AuthProtocol', FakeKeystone
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.controllers.v1.Controller._subcontroller_map',
                dict(v1.Controller._subcontroller_map),
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic.api.controllers.v1.node.NodesController.'
                '_subcontroller_map',
                dict(node.NodesController._subcontroller_map),
            )
        )
        # What one test counts is not written into the database of the next.
        counter = statistics.RuleCounter(lambda rows: None, period=3600)
        self.useFixture(
            fixtures.MonkeyPatch(
                'ironic_inspection_rules.inspection.rule_counter.get_counter',
                lambda: counter,
            )
        )
        start.rules.cache_clear()
        self.addCleanup(start.rules.cache_clear)
        self.app = ironic_app.VersionSelectorApplication()


class Current:
    """The application of the fixture that is in use at the moment."""

    app: Callable | None = None

    def __call__(self, environ: dict, start_response: Callable) -> Any:
        return self.app(environ, start_response)

    @contextlib.contextmanager
    def use(self, fixture: Application):
        with fixture:
            self.app = fixture.app
            yield fixture
        self.app = None


current = Current()
