"""API Gateway does not know integrations with responseTransferMode STREAM.

https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html
"""
import base64
import json

from ministack.services import apigateway_v1 as gateway

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:probe"
URI = f"arn:aws:apigateway:us-east-1:lambda:path/2021-11-15/functions/{FUNCTION}/response-streaming-invocations"


def is_open():
    return gateway._extract_lambda_ref_from_integration_uri(URI) != FUNCTION


def close():
    extract, call, invoke = (gateway._extract_lambda_ref_from_integration_uri, gateway._call_lambda_raw,
                             gateway._invoke_lambda_proxy_v1)

    def extract_streaming(uri):
        return extract((uri or "").replace("/response-streaming-invocations", "/invocations"))

    async def read_stream(function, event, **scope):
        result, error = await call(function, event, **scope)
        body = result.get("body") if isinstance(result, dict) else None
        if isinstance(body, dict) and "__streamed" in body:
            prelude, _, streamed = base64.b64decode(body["__streamed"]).partition(b"\0" * 8)
            result["body"] = {**json.loads(prelude), "body": base64.b64encode(streamed).decode(), "isBase64Encoded": True}
        return result, error

    async def invoke_streaming(integration, api_id, stage_name, stage, resource, path, method, headers, *rest, **named):
        if "response-streaming" in (integration.get("uri") or ""):
            # Bytes stay bytes, whatever the caller accepts.
            named["binary_media_types"] = ["*/*"]
            headers.setdefault("accept", "*/*")
        return await invoke(integration, api_id, stage_name, stage, resource, path, method, headers, *rest, **named)

    gateway._extract_lambda_ref_from_integration_uri = extract_streaming
    gateway._call_lambda_raw, gateway._invoke_lambda_proxy_v1 = read_stream, invoke_streaming
