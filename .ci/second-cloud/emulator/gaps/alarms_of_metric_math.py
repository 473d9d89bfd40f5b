"""CloudFormation makes no alarm of metric math.

https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-cloudwatch-alarm.html (Metrics)

The alarm is made, over a metric that has no data.
"""
from ministack.services.cloudformation import provisioners

MATH = {"Metrics": [{"Id": "sum", "Expression": "a + b"}], "ComparisonOperator": "GreaterThanThreshold", "Threshold": 1}


def is_open():
    try:
        provisioners._cw_metric_alarm_record("probe", MATH)
    except ValueError:
        return True
    return False


def close():
    record = provisioners._cw_metric_alarm_record

    def without_math(name, props):
        if not props.get("Metrics"):
            return record(name, props)
        kept = {key: value for key, value in props.items() if key != "Metrics"}
        return record(name, {**kept, "Namespace": "MetricMath", "MetricName": "none", "Period": 300, "Statistic": "Sum"})

    provisioners._cw_metric_alarm_record = without_math
