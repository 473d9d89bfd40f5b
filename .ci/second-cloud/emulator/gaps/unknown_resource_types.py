"""CloudFormation does not know some types of optional settings.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-template-resource-type-ref.html

They are noted and do nothing, except that a rotation schedule tells the secret its function.
"""
from ministack.services import secretsmanager
from ministack.services.cloudformation import provisioners

KNOWN = provisioners._RESOURCE_HANDLERS
TYPES = ("AWS::CloudTrail::Trail", "AWS::SecretsManager::RotationSchedule", "AWS::WAFv2::LoggingConfiguration",
         "AWS::WAFv2::WebACLAssociation")


def is_open():
    return any(each not in KNOWN for each in TYPES)


def close():
    for each in TYPES:
        KNOWN.setdefault(each, noted(each.split("::")[1].lower()))
    schedule = KNOWN["AWS::SecretsManager::RotationSchedule"]
    schedule["create"] = lambda logical_id, props, stack: tell_secret(props)
    schedule["update"] = lambda arn, old, props, *rest, **named: tell_secret(props)


def noted(service):
    name = lambda logical_id, props, stack: props.get("TrailName") or f"{stack}-{logical_id}"
    return {
        "create": lambda *given: (name(*given), {"Arn": f"arn:aws:{service}:us-east-1:000000000000:{name(*given)}"}),
        "update": lambda known, old, props, *rest, **named: (known, {}),
        "delete": lambda known, props: None,
    }


def tell_secret(props):
    _, secret = secretsmanager._resolve(props["SecretId"], use_arn_scope=True)
    secret.update(RotationEnabled=True, RotationLambdaARN=props.get("RotationLambdaARN"),
                  RotationRules=props.get("RotationRules"))
    return props["SecretId"], {}
