"""CloudFormation: `Ref` of a secret is its name, not its ARN.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-secretsmanager-secret.html (Return values)
"""
from ministack.services.cloudformation import provisioners

SECRET = provisioners._RESOURCE_HANDLERS["AWS::SecretsManager::Secret"]


def is_open():
    reference, _ = SECRET["create"]("Probe", {}, "probe")
    SECRET["delete"](reference, {})
    return not reference.startswith("arn:")


def close():
    create, update, delete = SECRET["create"], SECRET["update"], SECRET["delete"]

    def by_arn(result):
        _, attributes = result
        return attributes["Arn"], attributes

    SECRET["create"] = lambda *given: by_arn(create(*given))
    SECRET["update"] = lambda arn, *given, **named: by_arn(update(name_of(arn), *given, **named))
    SECRET["delete"] = lambda arn, *given: delete(name_of(arn), *given)


def name_of(arn):
    """Without the dash and the six characters at the end."""
    return arn.split(":secret:", 1)[1][:-7]
