/**
 * Bytes of a file, on every reply that is about one: also where no bytes go with it. Of those API Gateway counts
 * `Content-Length` anew, and sends what the function said under another name; of a streamed reply nothing is documented.
 */
export const fileSizeHeader = 'X-File-Size';
