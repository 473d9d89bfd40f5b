"""Gateway responses leave `$context.authorizer.…` as it is.

https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-gatewayResponse-definition.html
"""
import re
from contextvars import ContextVar

from ministack.services import apigateway_v1 as gateway

TEMPLATE = {"responseType": "ACCESS_DENIED", "statusCode": "403",
            "responseTemplates": {"application/json": "$context.authorizer.code"}}
REQUEST = {"api_id": "probe", "stage": {}, "headers": {}, "query_params": {}, "path_params": {},
           "resource_path": "", "request_id": "", "stage_name": ""}
context = ContextVar("context of the authorizer", default={})


def is_open():
    gateway._gateway_responses["probe"] = {"ACCESS_DENIED": TEMPLATE}
    try:
        _, _, body = gateway._gateway_error_response(gateway._gw_error("ACCESS_DENIED", "no"), REQUEST)
    finally:
        del gateway._gateway_responses["probe"]
    return b"$context.authorizer" in body


def close():
    stringify, render = gateway._stringify_context, gateway._gateway_error_response

    def remember(values):
        found = stringify(values)
        context.set(found)
        return found

    def fill_in(error, request):
        status, headers, body = render(error, request)
        value_of = lambda match: str(context.get().get(match.group(1).decode(), "")).encode()
        return status, headers, re.sub(rb"\$context\.authorizer\.(\w+)", value_of, body)

    gateway._stringify_context, gateway._gateway_error_response = remember, fill_in
