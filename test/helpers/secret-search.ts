/** Something that must not be found where it does not belong. */
export interface Secret {
  readonly name: string;
  /** Its bytes; a text stands for its UTF-8. */
  readonly value: string | Uint8Array;
}

/** What was written in one place. */
export interface Trace {
  /** Such as `log stage-file`. */
  readonly source: string;
  readonly text: string;
}

export interface Finding {
  readonly secret: string;
  /** How it was written. */
  readonly form: string;
  readonly source: string;
}

/** Anything shorter would be found by chance. */
const leastBytes = 12;

/** Every secret that stands in a trace, in any form that programs give to bytes. */
export function findSecrets(secrets: readonly Secret[], traces: readonly Trace[]): Finding[] {
  const wanted = secrets.map(({ name, value }) => ({ name, forms: formsOf(value) }));
  return traces.flatMap(({ source, text }) => {
    // PEM breaks base64 into lines, Node's inspection puts spaces between bytes and numbers: that hides nothing.
    const joined = text.replaceAll(/\s+|\\r|\\n/g, '');
    return wanted.flatMap(({ name, forms }) => {
      const found = [...forms].find(([, form]) => text.includes(form) || joined.includes(form));
      return found ? [{ secret: name, form: found[0], source }] : [];
    });
  });
}

function formsOf(value: string | Uint8Array): ReadonlyMap<string, string> {
  const bytes = Buffer.from(value as Uint8Array);
  if (bytes.length < leastBytes) throw new RangeError(`a secret of ${bytes.length} bytes would be found by chance`);
  const hex = bytes.toString('hex');
  const text = bytes.toString('utf8');
  const numbers = [...bytes];
  const forms = new Map([
    ['raw', bytes.toString('latin1')],
    ['text', text],
    ['JSON', JSON.stringify(text).slice(1, -1)],
    ['percent-encoded', encodeURIComponent(text)],
    ['hex', hex],
    ['HEX', hex.toUpperCase()],
    ['numbers', numbers.join(',')],
    ['indexed numbers', numbers.map((byte, index) => `"${index}":${byte}`).join(',')],
  ]);
  for (const before of [0, 1, 2]) {
    for (const encoding of ['base64', 'base64url'] as const) {
      forms.set(`${encoding}, ${before} bytes into it`, insideBase64(bytes, before, encoding));
    }
  }
  return forms;
}

/**
 * What base64 makes of `bytes` when they begin `before` bytes after a group of three, without the characters at both ends
 * that depend on the neighbours. So a password is also found within a Basic header.
 */
function insideBase64(bytes: Uint8Array, before: number, encoding: 'base64' | 'base64url'): string {
  const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString(encoding);
  return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
}
