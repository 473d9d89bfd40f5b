/**
 * Size of a file in bytes, on every reply about one. A reply without a body needs it, because `Content-Length` does not
 * arrive: API Gateway sets its own on a buffered reply and renames the function's. For a streamed reply nothing is
 * documented.
 */
export const fileSizeHeader = 'X-File-Size';
