# SPDX-License-Identifier: Apache-2.0

"""Sphinx settings of the API reference."""

project = 'ironic-inspection-rules API reference'
copyright = 'ironic-inspection-rules developers'

extensions = ['openstackdocstheme', 'os_api_ref']

html_theme = 'openstackdocs'
html_theme_options = {'sidebar_mode': 'toc'}
openstackdocs_auto_name = False
openstackdocs_repo_name = 'openstack/ironic-inspection-rules'

pygments_style = 'native'
