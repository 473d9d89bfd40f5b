/**
 * JSON as the body of a message. SQS takes no U+FFFE and U+FFFF, and some implementations nothing beyond them. An identifier
 * may have them, so they are escaped.
 */
export function jsonBody(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\ud800-\udfff\ufffe\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
  );
}
