"""The Python reference's side of the benchmark: `python crypt4gh_reference.py encrypt|decrypt|headers ...`, JSON out."""

import io
import json
import os
import resource
import sys
import time

from crypt4gh import header, lib, sodium


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def file_to_file(process, source, target):
    def work():
        with open(source, "rb") as infile, open(target, "wb") as outfile:
            process(infile, outfile)

    return timed(work)


def headers(seconds, writers):
    """Headers of so many writers: read, opened, sealed for one recipient, written; packets of others trimmed."""
    archive, recipient = os.urandom(32), sodium.derive_pk(os.urandom(32))
    archive_public = sodium.derive_pk(archive)
    senders = [os.urandom(32) for _ in range(writers)]
    sources = [
        header.serialize(
            header.encrypt(
                header.make_packet_data_enc(0, os.urandom(32)), [(0, senders[index % writers], archive_public)]
            )
        )
        for index in range(2_000)
    ]
    done, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        start = done % len(sources)
        for source in sources[start : start + 100]:
            packets = header.reencrypt(
                header.parse(io.BytesIO(source)), [(0, archive, None)], [(0, archive, recipient)], trim=True
            )
            header.serialize(packets)
        done += 100
    cpu = time.process_time() - started
    return {"seconds": cpu, "cpu": cpu, "done": done}


def main(job, *rest):
    if job == "headers":
        result = headers(float(rest[0]), int(rest[1]))
    else:
        key, source, target = bytes.fromhex(rest[0]), rest[1], rest[2]
        if job == "encrypt":
            keys = [(0, os.urandom(32), sodium.derive_pk(key))]
            result = file_to_file(lambda i, o: lib.encrypt(keys, i, o), source, target)
        else:
            result = file_to_file(lambda i, o: lib.decrypt([(0, key, None)], i, o), source, target)
    result["peakBytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(result))


main(*sys.argv[1:])
