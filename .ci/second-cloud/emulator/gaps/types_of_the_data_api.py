"""The Data API ignores the type hints of parameters, calls every column VARCHAR, and has no longReturnType.

https://docs.aws.amazon.com/rdsdataservice/latest/APIReference/API_SqlParameter.html
https://docs.aws.amazon.com/rdsdataservice/latest/APIReference/API_ColumnMetadata.html
https://docs.aws.amazon.com/rdsdataservice/latest/APIReference/API_ResultSetOptions.html
"""
import base64
import json

import psycopg2
import psycopg2.extensions
from ministack.services import rds_data

HINTS = {"UUID": "uuid", "JSON": "jsonb", "TIMESTAMP": "timestamp", "DATE": "date", "TIME": "time", "DECIMAL": "numeric"}
KINDS = {"stringValue": "varchar", "longValue": "int8", "doubleValue": "float8", "booleanValue": "boolean", "blobValue": "bytea"}
NAMES = {16: "bool", 17: "bytea", 19: "name", 20: "int8", 21: "int2", 23: "int4", 25: "text", 26: "oid", 114: "json", 701: "float8",
         1043: "varchar", 1082: "date", 1114: "timestamp", 1184: "timestamptz", 1700: "numeric", 2278: "void", 2950: "uuid", 3802: "jsonb"}


def is_open():
    [column] = rds_data._column_metadata([("count", 20, None, None, None, None, None)], "aurora-postgresql")
    return column["typeName"] != "int8"


def close():
    substitute, value_of, describe, execute = (rds_data._substitute_named_params, rds_data._field_value,
                                               rds_data._column_metadata, rds_data._execute_statement)

    def escape_percent(sql, names):
        return substitute(sql.replace("%", "%%"), names) if names else sql

    def field(value, type_name=None):
        if isinstance(value, memoryview):
            return {"blobValue": base64.b64encode(bytes(value)).decode()}
        if isinstance(value, list):
            return {"arrayValue": {"stringValues": [str(each) for each in value]}}
        return value_of(value, type_name)

    def with_type_names(description, engine):
        columns = describe(description, engine)
        return [{**column, "typeName": NAMES.get(column["type"], "text")} for column in columns]

    def with_return_types(data):
        status, headers, body = execute(data)
        if (data.get("resultSetOptions") or {}).get("longReturnType") != "STRING":
            return status, headers, body
        result = json.loads(body)
        longs = [at for at, column in enumerate(result.get("columnMetadata", [])) if column["typeName"] == "int8"]
        for row in result.get("records", []):
            row[:] = [{"stringValue": str(each["longValue"])} if at in longs and "longValue" in each else each
                      for at, each in enumerate(row)]
        return status, headers, json.dumps(result).encode()

    psycopg2.extensions.register_adapter(Typed, adapt)
    rds_data._convert_parameters = lambda given: {each["name"]: typed(each) for each in given or []}
    rds_data._substitute_named_params, rds_data._field_value = escape_percent, field
    rds_data._column_metadata, rds_data._execute_statement = with_type_names, with_return_types


class Typed:
    """A value with the type that the Data API binds it as."""

    def __init__(self, value, type_name):
        self.value, self.type_name = value, type_name


def typed(parameter):
    value, hint = parameter.get("value", {}), HINTS.get(parameter.get("typeHint"))
    if value.get("isNull"):
        return Typed(None, hint)
    [(kind, plain)] = value.items()
    if kind == "blobValue":
        return Typed(psycopg2.Binary(base64.b64decode(plain)), KINDS[kind])
    return Typed(plain, hint if hint and kind == "stringValue" else KINDS[kind])


def adapt(typed_value):
    quoted = psycopg2.extensions.adapt(typed_value.value)
    if hasattr(quoted, "encoding"):
        quoted.encoding = "utf-8"
    text = "NULL" if typed_value.value is None else quoted.getquoted().decode()
    return psycopg2.extensions.AsIs(text + (f"::{typed_value.type_name}" if typed_value.type_name else ""))
