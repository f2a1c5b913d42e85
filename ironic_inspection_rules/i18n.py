# SPDX-License-Identifier: Apache-2.0

"""Translation of what users read; logs stay untranslated."""

import oslo_i18n

_translators = oslo_i18n.TranslatorFactory(domain='ironic_inspection_rules')

_ = _translators.primary
_P = _translators.plural_form
