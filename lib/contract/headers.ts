/**
 * Bytes of a file, on every reply about one, also on a reply without a body. There `Content-Length` does not arrive: API
 * Gateway counts that of a buffered reply anew, and renames the function's; for a streamed reply nothing is documented.
 */
export const fileSizeHeader = 'X-File-Size';
