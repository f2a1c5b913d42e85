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

"""YAML as people like to read it."""

import typing

import yaml


class Plain:
    """What is in two places is written twice, without ``&id001``."""

    def ignore_aliases(self, _data: typing.Any) -> bool:
        """Tell a dumper not to look for what it has written before."""
        return True


class Dumper(Plain, yaml.SafeDumper):  # type: ignore[misc]
    """A dumper whose output does not depend on how PyYAML was built."""


class FastDumper(Plain, getattr(  # type: ignore[misc]
        yaml, 'CSafeDumper', yaml.SafeDumper)):
    """A dumper for what is large."""


def dump(value: typing.Any, **options: typing.Any) -> str:
    """Write plain data, with mappings in their own order.

    :param options: of PyYAML's ``dump``.
    """
    return str(yaml.dump(value, **{
        'Dumper': Dumper, 'sort_keys': False, 'allow_unicode': True,
        **options}))
