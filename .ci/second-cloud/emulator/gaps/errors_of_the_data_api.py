"""Errors of statements are BadRequestException, without the SQLSTATE.

https://docs.aws.amazon.com/rdsdataservice/latest/APIReference/API_ExecuteStatement.html (DatabaseErrorException)
"""
import psycopg2
from ministack.services import rds_data


def is_open():
    return b"BadRequestException" in rds_data._sql_execution_error(psycopg2.ProgrammingError("probe"))[2]


def close():
    rds_data._sql_execution_error = with_state


def with_state(error):
    state = getattr(error, "pgcode", None)
    # A refused login comes before there is a session that has codes.
    if state is None and "password authentication failed" in str(error):
        state = "28P01"
    if state is None:
        return rds_data._error("DatabaseUnavailableException", str(error), 504)
    text = error.diag.message_primary or str(error).strip()
    return rds_data._error("DatabaseErrorException", f"ERROR: {text}; SQLState: {state}", 400)
