"""CloudFormation does not know some types of optional settings.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-template-resource-type-ref.html

They are noted and do nothing.
"""
from ministack.services.cloudformation import provisioners

KNOWN = provisioners._RESOURCE_HANDLERS
TYPES = ("AWS::CloudTrail::Trail", "AWS::WAFv2::LoggingConfiguration", "AWS::WAFv2::WebACLAssociation")


def is_open():
    return any(each not in KNOWN for each in TYPES)


def close():
    for each in TYPES:
        KNOWN.setdefault(each, noted(each.split("::")[1].lower()))


def noted(service):
    name = lambda logical_id, props, stack: props.get("TrailName") or f"{stack}-{logical_id}"
    return {
        "create": lambda *given: (name(*given), {"Arn": f"arn:aws:{service}:us-east-1:000000000000:{name(*given)}"}),
        "update": lambda known, old, props, *rest, **named: (known, {}),
        "delete": lambda known, props: None,
    }
