"""REST APIs match the decoded path, so that an encoded slash separates segments, and `%25` is decoded twice.

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html (parameters are decoded for the backend)
"""
import inspect
from contextvars import ContextVar
from urllib.parse import unquote

from ministack import app
from ministack.services import apigateway_v1 as gateway

sent = ContextVar("path as it was sent", default=None)


def is_open():
    return "raw_path" not in inspect.signature(gateway.handle_execute).parameters


def close():
    dispatch, execute, match = app._handle_execute_api_request, gateway.handle_execute, gateway._match_resource_tree

    async def remember(*request, raw_path=None, **rest):
        sent.set(raw_path)
        return await dispatch(*request, raw_path=raw_path, **rest)

    async def by_sent_path(api_id, stage, method, path, *rest):
        # Below API Gateway's own name the stage comes first.
        whole = sent.get() or path
        encoded = next((each for each in (whole, whole.removeprefix(f"/{stage}")) if unquote(each) == path), path)
        return await execute(api_id, stage, method, encoded, *rest)

    def decode_parameters(api_id, segments):
        resource, parameters = match(api_id, segments)
        return resource, {name: unquote(value) for name, value in parameters.items()}

    app._handle_execute_api_request = remember
    gateway.handle_execute, gateway._match_resource_tree = by_sent_path, decode_parameters
