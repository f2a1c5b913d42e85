# SPDX-License-Identifier: Apache-2.0

"""What the modules of this collection share: the way to Ironic."""

import contextlib
import traceback

from ansible.module_utils import basic

MISSING = None

try:
    import openstack
    from openstack import exceptions as sdk_exceptions

    from ironic_inspection_rules import exceptions
    from ironic_inspection_rules.kit.client import http
    from ironic_inspection_rules.kit.client import inspection_rule
except ImportError:
    MISSING = traceback.format_exc()

_CONNECTION = {
    'auth_type': {},
    'auth': {'type': 'dict', 'no_log': True},
    'region_name': {},
    'interface': {
        'default': 'public',
        'aliases': ['endpoint_type'],
        'choices': ['public', 'internal', 'admin'],
    },
    'validate_certs': {'type': 'bool', 'aliases': ['verify']},
    'ca_cert': {'aliases': ['cacert']},
    'client_cert': {'aliases': ['cert']},
    'client_key': {'aliases': ['key'], 'no_log': True},
    'api_timeout': {'type': 'int'},
}
_NAMES_OF_SDK = {
    'validate_certs': 'verify',
    'ca_cert': 'cacert',
    'client_cert': 'cert',
    'client_key': 'key',
}


def module(own, kind=basic.AnsibleModule, **kwargs):
    """Make a module with the options of a cloud.

    :param own: the options of this module.
    :param kind: AnsibleModule, or a class that inherits from it.
    :param kwargs: as of AnsibleModule.
    """
    made = kind(
        argument_spec={**own, 'cloud': {'type': 'raw'}, **_CONNECTION},
        supports_check_mode=True,
        **kwargs,
    )
    if MISSING:
        made.fail_json(
            exception=MISSING,
            msg=basic.missing_required_lib(
                'ironic-inspection-rules (with openstacksdk)'
            ),
        )
    return made


def connect(module):
    """Return the bare metal proxy of an openstacksdk connection."""
    cloud = module.params['cloud']
    given = dict(cloud) if isinstance(cloud, dict) else {'cloud': cloud}
    given.update(
        (_NAMES_OF_SDK.get(name, name), module.params[name])
        for name in _CONNECTION
        if module.params[name] is not None
    )
    return openstack.connect(**given).baremetal


@contextlib.contextmanager
def explained(module, baremetal, files=None):
    """Fail the module with what Ironic says, by place where that is known.

    :param files: where the rules that are sent come from.
    """
    try:
        yield
    except sdk_exceptions.HttpException as exc:
        text = exc.details or str(exc)
        if exc.response is not None and exc.response.status_code < 500:
            if not inspection_rule.has_plugin(baremetal):
                text = (
                    "Ironic's API runs without the plugin: the role "
                    'ironic.inspection_rules.install switches it on'
                )
            elif files:
                text = files.format_problems(http.read_problems(exc)) or text
        module.fail_json(msg=text)
    except (
        sdk_exceptions.SDKException,
        exceptions.InspectionRulesError,
    ) as exc:
        module.fail_json(msg=str(exc))
