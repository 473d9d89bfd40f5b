/**
 * Value of `x-amz-copy-source`: bucket and key, percent-encoded segment by segment. S3 decodes it, a `+` as a space
 * too, and the SDK sends it as given. Slashes stay: they separate the segments of the key.
 */
export function copySource(bucket: string, key: string): string {
  const encoded = key.split('/').map((segment) =>
    // encodeURIComponent leaves five characters that RFC 3986 reserves.
    encodeURIComponent(segment).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  );
  return `${bucket}/${encoded.join('/')}`;
}
