"""The Python reference as a peer: reads one JSON request a line, answers with one JSON line. Bytes are base64."""

import base64
import io
import json
import os
import sys
import tempfile
from unittest import mock

from crypt4gh import header, lib, sodium
from crypt4gh.keys import c4gh, get_private_key, get_public_key, kdf


def raw(text):
    return base64.b64decode(text)


def text(data):
    return base64.b64encode(bytes(data)).decode()


def run(process, data):
    source, target = io.BytesIO(data), io.BytesIO()
    process(source, target)
    return text(target.getvalue())


def encrypt(request):
    keys = [(0, os.urandom(32), raw(public)) for public in request["recipients"]]
    return run(lambda i, o: lib.encrypt(keys, i, o), raw(request["data"]))


def decrypt(request):
    keys = [(0, raw(request["privateKey"]), None)]
    sender = raw(request["sender"]) if "sender" in request else None
    return run(lambda i, o: lib.decrypt(keys, i, o, sender_pubkey=sender), raw(request["data"]))


def reencrypt(request):
    own = raw(request["privateKey"])
    recipients = [(0, own, raw(public)) for public in request["recipients"]]
    trim = request.get("trim", False)
    return run(lambda i, o: lib.reencrypt([(0, own, None)], recipients, i, o, trim=trim), raw(request["data"]))


def rearrange(request):
    own = raw(request["privateKey"])
    keys = [(0, own, sodium.derive_pk(own))]
    start, span = request["start"], request.get("span")
    return run(lambda i, o: lib.rearrange(keys, i, o, offset=start, span=span), raw(request["data"]))


def with_edit_list(request):
    """A container whose header has an edit list, as the reference writes it."""
    session_key = os.urandom(32)
    recipient = [(0, os.urandom(32), raw(request["recipient"]))]
    payloads = [header.make_packet_data_enc(0, session_key), header.make_packet_data_edit_list(request["lengths"])]
    with mock.patch("os.urandom", lambda size: session_key[:size]):
        whole = raw(encrypt({"recipients": [request["recipient"]], "data": request["data"]}))
    packets = [packet for payload in payloads for packet in header.encrypt(payload, recipient)]
    return text(header.serialize(packets) + whole[16 + 108:])


def write_key(request):
    """A key file; the reference writes scrypt alone, unless it is told that there is none."""
    own = raw(request["privateKey"])
    name = request["kdf"].encode()
    passphrase = request["passphrase"].encode() if name != b"none" else None
    comment = b"a comment" if request.get("comment") else None
    if name in (b"none", b"scrypt"):
        data = c4gh.encode_private_key(own, passphrase, comment)
    elif name == b"bcrypt":
        with mock.patch.object(c4gh, "scrypt_supported", False):
            data = c4gh.encode_private_key(own, passphrase, comment)
    else:
        with mock.patch.object(c4gh, "scrypt_supported", False), mock.patch.object(
            c4gh, "get_kdf", lambda _: kdf.get_kdf(name)
        ), mock.patch.object(c4gh, "derive_key", lambda _, *rest: kdf.derive_key(name, *rest)):
            data = c4gh.encode_private_key(own, passphrase, comment).replace(b"\x00\x06bcrypt", field(name))
    label = "CRYPT4GH PRIVATE KEY"
    pem = f"-----BEGIN {label}-----\n{base64.b64encode(data).decode()}\n-----END {label}-----\n"
    return text(pem.encode())


def field(name):
    return len(name).to_bytes(2, "big") + name


def in_file(data, process):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return process(file.name)


def read_key(request):
    return text(in_file(raw(request["file"]), lambda path: get_private_key(path, lambda: request["passphrase"])))


def read_public_key(request):
    return text(in_file(raw(request["file"]), get_public_key))


def public_key(request):
    return text(sodium.derive_pk(raw(request["privateKey"])))


operations = {
    operation.__name__: operation
    for operation in (
        encrypt,
        decrypt,
        reencrypt,
        rearrange,
        with_edit_list,
        write_key,
        read_key,
        read_public_key,
        public_key,
    )
}

replies = sys.stdout
# The reference prints warnings; they must not come between the replies.
sys.stdout = sys.stderr
for line in sys.stdin:
    request = json.loads(line)
    try:
        reply = {"result": operations[request["operation"]](request)}
    except (Exception, SystemExit) as error:
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), file=replies, flush=True)
