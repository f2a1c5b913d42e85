# SPDX-License-Identifier: Apache-2.0

"""Words of a command, in whatever order they are written."""

import argparse


def any_order(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Let options stand between files or filters.

    Otherwise the first of these are taken for all there are.
    """
    parser.parse_args = parser.parse_intermixed_args  # type: ignore
    return parser
