import { AwsError } from '../endpoint/errors.ts';
import { type XmlContent, xml } from '../endpoint/xml.ts';
import type { S3Reply } from './operation.ts';

/** Reply 200 with a document. */
export function xmlReply(root: string, content: XmlContent): S3Reply {
  const head = `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`;
  return { status: 200, headers: { 'content-type': 'application/xml' }, body: `${head}${xml(content)}</${root}>` };
}

/** The texts inside every element of a name, as they stand in the document. Enough for the few documents that S3 takes. */
export function elements(document: string, name: string): readonly string[] {
  return [...document.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, text = '']) => text,
  );
}

/** The text of the first element of a name, with its references resolved; `undefined` when there is none. */
export function textOf(document: string, name: string): string | undefined {
  const [text] = elements(document, name);
  return text === undefined ? undefined : unescapeXml(text);
}

export function malformedXml(): AwsError {
  return new AwsError(
    400,
    'MalformedXML',
    'The XML you provided was not well-formed or did not validate against our published schema',
  );
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  return text.replace(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]+));/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return named[name] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      if (code > 0x10ffff) throw malformedXml();
      return String.fromCodePoint(code);
    },
  );
}
