"""The condition key aws:PrincipalArn of a role's session is the ARN of the session, not of the role.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-principalarn
"""
from ministack.core import iam_evaluator
from ministack.services import iam

SESSION = "arn:aws:sts::000000000000:assumed-role/probe/session"


def is_open():
    context = iam_evaluator.EvalContext(SESSION, "AssumedRole", "000000000000", "s3:GetObject", "*", "us-east-1")
    return iam_evaluator._resolve_condition_key("aws:PrincipalArn", context) == SESSION


def close():
    resolve = iam_evaluator._resolve_condition_key

    def of_role(key, context):
        value = resolve(key, context)
        if key.lower() != "aws:principalarn" or not isinstance(value, str) or ":assumed-role/" not in value:
            return value
        name = value.split(":assumed-role/")[1].split("/")[0]
        return next((role["Arn"] for role in iam._roles.values() if role.get("RoleName") == name), value)

    iam_evaluator._resolve_condition_key = of_role
