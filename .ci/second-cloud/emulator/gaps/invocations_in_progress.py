"""An update of a function ends the invocations that are in progress, and SQS hides their messages until its time limit.

https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html (an environment finishes what it has begun)
"""
import inspect
import threading
import time

from ministack.core import lambda_runtime

LONGEST_SECONDS = 900


def is_open():
    return "in_use" not in inspect.getsource(lambda_runtime.invalidate_worker)


def close():
    kill = lambda_runtime.kill_workers

    def kill_when_free(worker):
        deadline = time.monotonic() + LONGEST_SECONDS
        while worker.in_use and worker._proc and worker._proc.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        kill([worker])

    def kill_free(workers):
        workers = [worker for worker in workers if worker is not None]
        kill([worker for worker in workers if not worker.in_use])
        for worker in workers:
            if worker.in_use:
                threading.Thread(target=kill_when_free, args=[worker], daemon=True).start()

    lambda_runtime.kill_workers = kill_free
