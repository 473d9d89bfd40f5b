"""The Data API speaks to a database in a container alone. Without Docker it accepts statements and runs none.

https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/data-api.html

Here it speaks to the PostgreSQL of this machine, whose socket is in the folder PGHOST. Statements run in threads: one that waits
for a lock must not stop the emulator.
"""
import asyncio
import contextvars
import os

import psycopg2.extensions
from ministack.services import rds_data

# json, jsonb, timestamp, timestamptz, date, time: the Data API gives them as PostgreSQL writes them.
AS_TEXT = psycopg2.extensions.new_type((114, 3802, 1114, 1184, 1082, 1083), "as text", lambda value, cursor: value)


def is_open():
    return not rds_data._has_real_endpoint({"Endpoint": {"Address": "127.0.0.1", "Port": 5432}})


def close():
    connect, handle = rds_data._connect, rds_data.handle_request

    def connect_by_socket(instance, *rest, **named):
        place = {"_internal_address": os.environ["PGHOST"], "_internal_port": 5432}
        connection = connect({**instance, **place}, *rest, **named)
        psycopg2.extensions.register_type(AS_TEXT, connection)
        connection.cursor().execute("set timezone = 'UTC'")
        return connection

    async def in_thread(*request):
        scope = contextvars.copy_context()
        return await asyncio.to_thread(scope.run, lambda: asyncio.run(handle(*request)))

    rds_data._has_real_endpoint = lambda instance: True
    rds_data._connect, rds_data.handle_request = connect_by_socket, in_thread
