# SPDX-License-Identifier: Apache-2.0

"""Try rules on files without this project, as a user would.

    python -m benchmark.offline_peer RULES MACHINES

Every inventory is read, and the engine of stock Ironic runs the rules on it.
The number of attributes that they set is printed.
"""

import json
import pathlib
import sys

import yaml

from benchmark import engine


def main(rules_file: str, directory: str) -> None:
    """Run the rules on all inventories, and print the number of changes.

    :param rules_file: the path of the file with the rules.
    :param directory: the path of the directory with the inventories.
    """
    engine.prepare_stock()
    rules = [
        {
            'uuid': str(number),
            'priority': 0,
            'phase': 'main',
            'sensitive': False,
            **rule,
        }
        for number, rule in enumerate(
            yaml.safe_load(pathlib.Path(rules_file).read_text())
        )
    ]
    changes = 0
    for path in sorted(pathlib.Path(directory).iterdir()):
        inventory = json.loads(path.read_text())['inventory']
        changes += len(engine.run_stock(rules, inventory))
    print(changes)


if __name__ == '__main__':
    main(*sys.argv[1:])
