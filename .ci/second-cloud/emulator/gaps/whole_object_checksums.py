"""S3: CRC-64/NVME of a multipart upload is made of the parts' values, and UploadPartCopy answers none.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html (CRC-64/NVME: full object only)
https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyPartResult.html
"""
from contextvars import ContextVar

from awscrt import checksums
from ministack.services import s3

whole = ContextVar("bytes of the upload", default=None)


def is_open():
    return s3._composite_checksum("CRC64NVME", ["AAAAAAAAAAA="]).endswith("-1")


def close():
    composite, complete, copy = s3._composite_checksum, s3._complete_multipart_upload, s3._upload_part_copy

    def of_whole(algorithm, parts):
        if algorithm != "CRC64NVME" or whole.get() is None:
            return composite(algorithm, parts)
        return s3._compute_s3_checksum(algorithm, whole.get())

    def complete_whole(bucket, key, body, query, headers=None):
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"))
        if upload is None or upload.get("checksum_algorithm") != "CRC64NVME":
            return complete(bucket, key, body, query, headers)
        whole.set(b"".join(part["body"] for _, part in sorted(upload["parts"].items())))
        status, fields, reply = complete(bucket, key, body, query, headers)
        whole.set(None)
        if status == 200:
            s3._ensure_bucket(bucket)["objects"][key]["checksum_type"] = "FULL_OBJECT"
        return status, fields, reply

    def copy_with_checksum(bucket, key, query, headers):
        status, fields, reply = copy(bucket, key, query, headers)
        upload = s3._multipart_uploads.get(s3._qp(query, "uploadId"))
        algorithm = upload and upload.get("checksum_algorithm")
        if status != 200 or not algorithm:
            return status, fields, reply
        part = upload["parts"][int(s3._qp(query, "partNumber", "1"))]
        value = s3._compute_s3_checksum(algorithm, part["body"])
        part["checksums"] = {algorithm: value}
        element = f"<Checksum{algorithm}>{value}</Checksum{algorithm}></CopyPartResult>".encode()
        return status, fields, reply.replace(b"</CopyPartResult>", element)

    # The emulator computes it byte by byte in Python, which takes minutes for some MiB.
    s3._crc64nvme = lambda body: checksums.crc64nvme(bytes(body))
    s3._composite_checksum, s3._complete_multipart_upload, s3._upload_part_copy = of_whole, complete_whole, copy_with_checksum
