# SPDX-License-Identifier: Apache-2.0

"""Sphinx settings of the documentation."""

project = 'ironic-inspection-rules'
copyright = 'ironic-inspection-rules developers'

extensions = [
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
