"""IAM asks for actions such as sqs:SendMessageBatch, which do not exist: a batch needs the right of the single call.

https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html
"""
from ministack.core import iam_evaluator


def is_open():
    return not iam_evaluator._action_matches("sqs:SendMessageBatch", ["sqs:SendMessage"], [])


def close():
    matches = iam_evaluator._action_matches

    def of_single_call(action, *lists):
        is_batch = action.lower().startswith("sqs:") and action.lower().endswith("batch")
        return matches(action[: -len("batch")] if is_batch else action, *lists)

    iam_evaluator._action_matches = of_single_call
