"""API Gateway does not answer under AWS's host names, and does not tell functions the name that was called.

https://docs.aws.amazon.com/apigateway/latest/developerguide/how-to-call-api.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html (requestContext.domainName)
"""
import re

from ministack import app
from ministack.services import apigateway_v1 as gateway

HOST = re.compile(r"^([a-z0-9]{8,10})\.execute-api\.[a-z0-9-]+\.amazonaws\.com$")


def is_open():
    return app._EXECUTE_API_RE.match("0123abcd.execute-api.us-east-1.amazonaws.com") is None


def close():
    app._EXECUTE_API_RE = HOST
    call = gateway._call_lambda_raw

    async def with_domain_name(function, event, *, account_id=None, region=None):
        context = event.get("requestContext") if isinstance(event, dict) else None
        if context and context.get("apiId"):
            context["domainName"] = f"{context['apiId']}.execute-api.{region or 'us-east-1'}.amazonaws.com"
        return await call(function, event, account_id=account_id, region=region)

    gateway._call_lambda_raw = with_domain_name
