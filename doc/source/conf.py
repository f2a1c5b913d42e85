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

"""Sphinx settings of the documentation."""

import pathlib
import sys

project = 'ironic-inspection-rules'
copyright = 'ironic-inspection-rules developers'

sys.path.insert(0, str(pathlib.Path(__file__).with_name('_ext')))

extensions = [
    'rule_example',
    'cliff.sphinxext',
    'sphinx.ext.autodoc',
    'openstackdocstheme',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
]

html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_repo_name = 'openstack/ironic-inspection-rules'
openstackdocs_use_storyboard = False

exclude_patterns = []
pygments_style = 'native'
