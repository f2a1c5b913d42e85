# SPDX-License-Identifier: Apache-2.0

"""Sphinx settings of the release notes."""

project = 'ironic-inspection-rules release notes'
copyright = 'ironic-inspection-rules developers'

extensions = ['openstackdocstheme', 'reno.sphinxext']

html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_repo_name = 'openstack/ironic-inspection-rules'

pygments_style = 'native'
