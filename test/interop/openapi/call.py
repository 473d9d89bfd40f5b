"""Calls the two APIs with the clients of openapi-python-client in the folder of the first argument. Prints, for each call,
its status, the class of what came, and one value of it, as JSON."""

import json
import os
import sys

sys.path.insert(0, sys.argv[1])

from direct import AuthenticatedClient as Direct
from direct.api.datasets import list_dataset_files, list_datasets
from direct.api.files import get_file, get_named_file
from delivery import AuthenticatedClient as Delivery
from delivery.api.outbox import list_outbox, stream_file

e = os.environ


def delivery(visa):
    return Delivery(base_url=e["PROXY"], token=e["BASIC"], prefix="Basic", headers={"X-GA4GH-Visa": visa})


direct = Direct(base_url=e["DIRECT"], token=e["VISA"])
calls = [
    (list_outbox.sync_detailed(client=delivery(e["VISA"]), inbox="false"), lambda found: found.files[0].file_name),
    (list_outbox.sync_detailed(client=delivery("a.b.c"), inbox="false"), lambda found: found.code),
    (stream_file.sync_detailed(client=delivery(e["VISA"]), file="EGAF404.c4gh", redirect="false"), lambda found: found.code),
    (list_datasets.sync_detailed(client=direct), lambda found: found[0]),
    (list_dataset_files.sync_detailed(client=direct, dataset_id="EGAD1", per_page=1), lambda found: found[0].file_id),
    (list_dataset_files.sync_detailed(client=direct, dataset_id="EGAD404"), lambda found: found.code),
    (get_named_file.sync_detailed(client=direct, file_id=e["FILE_ID"], name="other.txt"), lambda found: found.status),
]
shown = [[int(reply.status_code), type(reply.parsed).__name__, value(reply.parsed)] for reply, value in calls]
content = get_file.sync_detailed(client=direct, file_id=e["FILE_ID"])
print(json.dumps([*shown, [int(content.status_code), "bytes", len(content.content)]]))
