# SPDX-License-Identifier: Apache-2.0

"""How the modules of this collection find their cloud."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  cloud:
    description:
      - Name of a cloud of C(clouds.yaml), or all of its settings as a
        mapping.
      - Unless given, the variables C(OS_*) say which cloud it is.
    type: raw
  auth:
    description: What the plugin of O(auth_type) takes, such as C(endpoint)
      of an Ironic without authentication.
    type: dict
  auth_type:
    description: Name of an authentication plugin of keystoneauth, such as
      V(password), V(none) or V(http_basic).
    type: str
  region_name:
    description: Name of the region.
    type: str
  interface:
    description: Which endpoint of the catalog is taken.
    type: str
    choices: [public, internal, admin]
    default: public
    aliases: [endpoint_type]
  validate_certs:
    description: Whether the certificate of the API is verified.
    type: bool
    aliases: [verify]
  ca_cert:
    description: Path of the certificates that are trusted.
    type: str
    aliases: [cacert]
  client_cert:
    description: Path of the certificate to show to the API.
    type: str
    aliases: [cert]
  client_key:
    description: Path of the key of O(client_cert).
    type: str
    aliases: [key]
  api_timeout:
    description: Seconds to wait for an answer.
    type: int
requirements:
  - python >= 3.11
  - ironic-inspection-rules
  - openstacksdk >= 4.0.0
notes:
  - The names and meanings of the options of the cloud are those of the
    collection C(openstack.cloud).
  - Needs no Ironic on the host that it runs on, which is mostly
    C(localhost).
"""
