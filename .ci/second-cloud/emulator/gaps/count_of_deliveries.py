"""SNS does not count what it delivers.

https://docs.aws.amazon.com/sns/latest/dg/sns-monitoring-using-cloudwatch.html (NumberOfNotificationsDelivered)
"""
import inspect

from ministack.services import cloudwatch, sns


def is_open():
    return "NumberOfNotificationsDelivered" not in inspect.getsource(sns)


def close():
    fan_out = sns._fanout

    def counted(topic_arn, *rest, **named):
        fan_out(topic_arn, *rest, **named)
        subscriptions = (sns._topic_by_arn_any_scope(topic_arn) or {}).get("subscriptions", [])
        count = sum(1 for each in subscriptions if each.get("confirmed"))
        topic = {"TopicName": topic_arn.split(":")[-1]}
        cloudwatch.record_metric("AWS/SNS", "NumberOfNotificationsDelivered", count, "Count", topic)

    sns._fanout = counted
