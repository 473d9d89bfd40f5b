"""REST APIs join the values of a repeated header, so that a function sees one.

https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format
"""
import inspect
from collections import defaultdict
from contextvars import ContextVar

from ministack import app
from ministack.services import apigateway_v1 as gateway

repeated = ContextVar("headers with several values", default={})


def is_open():
    return 'headers[key] += ("; "' in inspect.getsource(app.app)


def close():
    serve, execute = app.app, gateway.handle_execute

    async def remember(scope, receive, send):
        values = defaultdict(list)
        for name, value in scope.get("headers", []):
            values[name.decode("latin-1").lower()].append(value.decode("latin-1"))
        repeated.set({name: each for name, each in values.items() if len(each) > 1})
        await serve(scope, receive, send)

    async def with_each_value(api_id, stage, method, path, headers, *rest):
        return await execute(api_id, stage, method, path, {**headers, **repeated.get()}, *rest)

    app.app, gateway.handle_execute = remember, with_each_value
