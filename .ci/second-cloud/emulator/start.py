"""Starts MiniStack with its gaps closed. Prints first, as a line of JSON, which gaps are `open`, so that their patch was
applied, and which the emulator has closed `by itself`: their files can go.

IAM_LOG names a file that gets a line for each new decision about a role: role, action, decision, resource.
"""
import importlib
import json
import os
import sys
from contextvars import ContextVar
from pathlib import Path

from ministack import app
from ministack.core import iam_evaluator


def close_gaps():
    folder = Path(__file__).parent / "gaps"
    gaps = {path.stem: importlib.import_module(f"gaps.{path.stem}") for path in sorted(folder.glob("*.py"))}
    # All are looked at before the first is closed: one can hide another.
    is_open = {name: gap.is_open() for name, gap in gaps.items()}
    for name, gap in gaps.items():
        if is_open[name]:
            gap.close()
    by_itself = [name for name in gaps if not is_open[name]]
    print(json.dumps({"open": [name for name in gaps if is_open[name]], "byItself": by_itself}), flush=True)


def log_decisions(path):
    evaluate, enforce = iam_evaluator.evaluate, iam_evaluator.enforce
    principal, seen = ContextVar("who asks", default=""), set()

    def remember(context, *rest):
        principal.set(context.principal_arn)
        return evaluate(context, *rest)

    def logged(access_key, action, service, region, resource_arn="*", *rest, **named):
        principal.set("")
        refusal = enforce(access_key, action, service, region, resource_arn, *rest, **named)
        _, of_role, session = principal.get().partition(":assumed-role/")
        decision = "denied" if refusal else "allowed"
        line = "\t".join((session.split("/")[0], action, decision, resource_arn))
        if of_role and line not in seen:
            seen.add(line)
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        return refusal

    iam_evaluator.evaluate, iam_evaluator.enforce = remember, logged


if __name__ == "__main__":
    close_gaps()
    log_decisions(os.environ["IAM_LOG"])
    # With TLS it would take port 443 as well, if that is free.
    app._port_is_bindable = lambda host, port: False
    sys.argv = ["ministack"]
    app.main()
