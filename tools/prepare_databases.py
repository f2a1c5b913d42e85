# SPDX-License-Identifier: Apache-2.0

"""Create the databases that the tests expect on MariaDB and PostgreSQL.

It creates the user ``openstack_citest`` with the same password, who may create
databases, and a database of this name. It may be run again. A server that does
not respond is skipped, and the tests that need it will be skipped, too.
"""

import argparse

import sqlalchemy as sa

MYSQL = 'mysql+pymysql://root@127.0.0.1/mysql'
MYSQL_STATEMENTS = [
    f"{statement} openstack_citest@'{host}' {rest}"
    for host in ('localhost', '%')
    for statement, rest in (
        ('CREATE USER IF NOT EXISTS', "IDENTIFIED BY 'openstack_citest'"),
        ('GRANT ALL PRIVILEGES ON *.* TO', ''),
    )
] + ['CREATE DATABASE IF NOT EXISTS openstack_citest']

POSTGRESQL = 'postgresql+psycopg2://postgres@127.0.0.1/postgres'
POSTGRESQL_STATEMENTS = {
    "SELECT 1 FROM pg_roles WHERE rolname = 'openstack_citest'": (
        'CREATE ROLE openstack_citest LOGIN CREATEDB PASSWORD '
        "'openstack_citest'"
    ),
    "SELECT 1 FROM pg_database WHERE datname = 'openstack_citest'": (
        'CREATE DATABASE openstack_citest OWNER openstack_citest'
    ),
}


def prepare_mysql(connection: sa.Connection) -> None:
    """Create the user and the database on MariaDB if they do not exist."""
    for statement in MYSQL_STATEMENTS:
        # A percent sign means any host. It must be doubled because the driver
        # uses it for parameters.
        connection.exec_driver_sql(statement.replace('%', '%%'))


def prepare_postgresql(connection: sa.Connection) -> None:
    """Create the user and database on PostgreSQL if they do not exist."""
    for question, statement in POSTGRESQL_STATEMENTS.items():
        if connection.scalar(sa.text(question)) is None:
            connection.execute(sa.text(statement))


def main() -> None:
    """Prepare both servers, and print which of them are ready."""
    # There are no arguments, but --help prints what the command does.
    argparse.ArgumentParser(description=__doc__).parse_args()
    for url, prepare in (
        (MYSQL, prepare_mysql),
        (POSTGRESQL, prepare_postgresql),
    ):
        engine = sa.create_engine(url, isolation_level='AUTOCOMMIT')
        try:
            with engine.connect() as connection:
                prepare(connection)
        except sa.exc.OperationalError as exc:
            print(f'No databases for tests at {url}: {exc.orig}')
        else:
            print(f'Databases for tests are ready at {url}')


if __name__ == '__main__':
    main()
