# SPDX-License-Identifier: Apache-2.0

"""Make what the tests expect on the local MariaDB and PostgreSQL.

The user ``openstack_citest``, with that password, who may make databases, and
a database of that name. Safe to repeat; a server that does not answer is left
out, and so will be the tests that need it.
"""

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
    """Make the user and the database on MariaDB, unless they are there."""
    for statement in MYSQL_STATEMENTS:
        # The driver takes a percent sign, which stands for any host, for a
        # parameter.
        connection.exec_driver_sql(statement.replace('%', '%%'))


def prepare_postgresql(connection: sa.Connection) -> None:
    """Make the user and the database on PostgreSQL, unless they are there."""
    for question, statement in POSTGRESQL_STATEMENTS.items():
        if connection.scalar(sa.text(question)) is None:
            connection.execute(sa.text(statement))


def main() -> None:
    """Prepare both servers, and print which of them are ready."""
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
