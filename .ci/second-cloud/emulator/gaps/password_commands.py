"""PostgreSQL lets every role change its own password. Aurora's parameter rds.restrict_password_commands forbids that.

https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.RestrictPasswordMgmt.html

Statements are judged by their text, so one that is hidden in a block is not seen.
"""
import inspect
import re

import psycopg2
from ministack.services import rds_data

COMMAND = re.compile(r"^\s*(alter|create)\s+(role|user)\b.*\b(password|valid\s+until)\b", re.IGNORECASE | re.DOTALL)


def is_open():
    return "rds_password" not in inspect.getsource(rds_data)


def close():
    execute = rds_data._execute_statement

    def restricted(data):
        if COMMAND.search(data.get("sql") or ""):
            user, _, error = rds_data._require_secret_credentials(data.get("secretArn"))
            if error is None and not is_manager(user):
                text = "ERROR: must be a member of rds_password to alter passwords; SQLState: 42501"
                return rds_data._error("DatabaseErrorException", text, 400)
        return execute(data)

    rds_data._execute_statement = restricted


def is_manager(user):
    with psycopg2.connect(user="postgres", dbname="postgres") as connection, connection.cursor() as cursor:
        cursor.execute("select from pg_roles where rolname = %s and pg_has_role(oid, 'rds_password', 'member')", (user,))
        return cursor.fetchone() is not None
