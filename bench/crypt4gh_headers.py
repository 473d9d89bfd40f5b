"""`python crypt4gh_headers.py WRITERS` prints how many headers the Python reference rebuilds in a second of processor time."""

import io
import os
import sys
import time

from crypt4gh import header, sodium

SECONDS = 2
COUNT = 2_000


def headers_of(writers, archive_public):
    senders = [os.urandom(32) for _ in range(writers)]
    for index in range(COUNT):
        packet = header.make_packet_data_enc(0, os.urandom(32))
        yield header.serialize(header.encrypt(packet, [(0, senders[index % writers], archive_public)]))


archive, recipient = os.urandom(32), sodium.derive_pk(os.urandom(32))
sources = list(headers_of(int(sys.argv[1]), sodium.derive_pk(archive)))
done, started = 0, time.process_time()
while time.process_time() - started < SECONDS:
    start = done % COUNT
    for source in sources[start : start + 100]:
        keys = [(0, archive, None)]
        packets = header.reencrypt(header.parse(io.BytesIO(source)), keys, [(0, archive, recipient)], trim=True)
        header.serialize(packets)
    done += 100
print(done / (time.process_time() - started))
