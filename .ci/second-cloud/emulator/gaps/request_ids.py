"""A function behind a REST API is told another request id than the caller.

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-variables-for-access-logging.html
"""
import inspect
from contextvars import ContextVar

from ministack.services import apigateway_v1 as gateway

told = ContextVar("what the function is told", default=None)


def is_open():
    return "request_id" not in inspect.signature(gateway._build_lambda_event_v1).parameters


def close():
    build, execute = gateway._build_lambda_event_v1, gateway._handle_execute_in_scope

    def remember(*request, **named):
        event = build(*request, **named)
        told.set(event["requestContext"]["requestId"])
        return event

    async def by_one_id(*request, **named):
        told.set(None)
        status, headers, body = await execute(*request, **named)
        is_of_gateway = any(name.lower() == "x-amzn-errortype" for name in headers)
        if told.get() is not None and not is_of_gateway:
            headers = {**headers, "x-amzn-requestid": told.get()}
        return status, headers, body

    gateway._build_lambda_event_v1, gateway._handle_execute_in_scope = remember, by_one_id
