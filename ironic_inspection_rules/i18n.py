# SPDX-License-Identifier: Apache-2.0

"""Translation of messages for users; logs are not translated."""

import oslo_i18n

_translators = oslo_i18n.TranslatorFactory(domain='ironic_inspection_rules')

_ = _translators.primary
_P = _translators.plural_form
