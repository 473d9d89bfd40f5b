"""RotateSecret makes the copy of a secret current at once, and calls no function.

https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotate-secrets_lambda-functions.html
"""
import json
import logging
import threading
from contextvars import copy_context

from ministack.core.responses import get_account_id, get_region, new_uuid, now_iso
from ministack.services import lambda_svc, secretsmanager

log = logging.getLogger("rotation")
STEPS = ("createSecret", "setSecret", "testSecret", "finishSecret")


def is_open():
    secretsmanager.create_secret_in_process("probe", "{}")
    function = "arn:aws:lambda:us-east-1:000000000000:function:probe"
    secretsmanager._rotate_secret({"SecretId": "probe", "RotationLambdaARN": function, "ClientRequestToken": "probe"})
    _, secret = secretsmanager._resolve("probe")
    is_current_at_once = "AWSCURRENT" in secret["Versions"]["probe"]["Stages"]
    secretsmanager.delete_secret_in_process("probe")
    return is_current_at_once


def close():
    secretsmanager._rotate_secret = rotate
    read = secretsmanager._get_secret_value

    def without_value(data):
        """A version that createSecret has not filled yet has no value."""
        reply = read(data)
        body = json.loads(reply[2])
        if reply[0] == 200 and "SecretString" not in body and "SecretBinary" not in body:
            return secretsmanager.error_response_json(
                "ResourceNotFoundException", "Secrets Manager can't find the specified secret value.", 400)
        return reply

    secretsmanager._get_secret_value = without_value


def rotate(data):
    _, secret = secretsmanager._resolve(data["SecretId"], use_arn_scope=True)
    token = data.get("ClientRequestToken") or new_uuid()
    created = secretsmanager.time.time()
    secret["Versions"][token] = {
        "SecretString": None, "SecretBinary": None, "CreatedDate": int(created), "Stages": ["AWSPENDING"]}
    scope = copy_context()
    threading.Thread(target=lambda: scope.run(call_function, secret, token), daemon=True).start()
    return secretsmanager.json_response({"ARN": secret["ARN"], "Name": secret["Name"], "VersionId": token})


def call_function(secret, token):
    for step in STEPS:
        data, config, _ = lambda_svc._get_func_record_for_ref_in_scope(
            secret["RotationLambdaARN"], account_id=get_account_id(), region=get_region())
        record = lambda_svc._execution_record_for_config(data, config)
        event = {"Step": step, "SecretId": secret["ARN"], "ClientRequestToken": token}
        result = lambda_svc._execute_function_with_config_scope(record, event)
        log.info("%s of %s: %s", step, secret["Name"], result.get("error") or "done")
        if result.get("error"):
            return
    secret["LastRotatedDate"] = now_iso()
