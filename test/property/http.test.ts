import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isError } from '../../lib/errors.ts';
import { exportMessageOf } from '../../lib/service/export/request-export.ts';
import { parseBasic, parseBearer } from '../../lib/service/http/authorization.ts';
import { slice } from '../../lib/service/http/pages.ts';
import { problemReply } from '../../lib/service/http/problem.ts';
import { visaToken } from '../../lib/service/outbox/caller.ts';
import { parsePage } from '../../lib/service/outbox/list-files.ts';
import { basic, httpRequest } from '../helpers/http-request.ts';

/** The reply to what `run` throws on purpose; `undefined` when it throws nothing. Any other error fails the test. */
function problemFor(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!isError(error)) throw error;
    const { body, headers } = problemReply(error, 'request', 'Bearer');
    return body + JSON.stringify(headers);
  }
}

/** Text that cannot be in a problem by chance, nor be part of a field's name. */
const secret = fc.stringMatching(/^[A-Za-z0-9._-]{12,60}$/).map((text) => `s3cr3t.${text}`);
const noise = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());

test('Basic: what is sent is what is read, whatever the password holds', () => {
  const printable = fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed() && !/\p{Cc}/u.test(text));
  const username = printable.filter((text) => text !== '' && !text.includes(':'));
  fc.assert(
    fc.property(username, printable, (name, password) => {
      expect(parseBasic(basic(name, password))).toEqual({ username: name, password });
    }),
  );
});

test('Authorization headers: any text is read or refused on purpose, and never repeated', () => {
  const header = fc.tuple(fc.constantFrom('', 'Basic ', 'basic  ', 'Bearer ', 'Bearer', ', '), noise, secret, noise);
  fc.assert(
    fc.property(header, ([scheme, before, hidden, after]) => {
      const value = `${scheme}${before}${hidden}${after}`;
      for (const parse of [() => parseBasic(value), () => parseBearer(value, 'Proxy-Authorization')]) {
        expect(problemFor(parse) ?? '').not.toContain(hidden);
      }
      const encoded = Buffer.from(value).toString('base64');
      expect(problemFor(() => parseBasic(`Basic ${encoded}`)) ?? '').not.toContain(encoded);
      const headers = { 'Proxy-Authorization': value, 'X-GA4GH-Visa': hidden };
      expect(problemFor(() => visaToken(httpRequest({ headers }))) ?? '').not.toContain(hidden);
    }),
  );
});

test('export bodies: any bytes are refused on purpose', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 300 }),
        noise.map((text) => Buffer.from(text)),
      ),
      (body) => {
        expect(problemFor(() => exportMessageOf(httpRequest({ body })))).toBeDefined();
      },
    ),
  );
});

test('export bodies: any JSON, also about the known fields, is read or refused on purpose', () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const fields = fc.record(
    { id: value, type: value, visaToken: value, userPublicKey: value, extra: value },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(value, fields), (body) => {
      problemFor(() => exportMessageOf(httpRequest({ body: JSON.stringify(body) })));
    }),
  );
});

test('export bodies: a visa or key is never in the problem, wherever it was put', () => {
  const place = fc.constantFrom('id', 'type', 'visaToken', 'userPublicKey', 'extra', 'name of a field', 'broken JSON');
  fc.assert(
    fc.property(secret, place, (hidden, where) => {
      const valid = { id: 'EGAD1', visaToken: 5, userPublicKey: 'x' };
      const body =
        where === 'broken JSON'
          ? `{"visaToken": ${hidden}}`
          : { ...valid, [where === 'name of a field' ? hidden : where]: hidden };
      const problem = problemFor(() => exportMessageOf(httpRequest({ body })));
      expect(problem).toBeDefined();
      expect(problem).not.toContain(hidden);
    }),
  );
});

test('paging: any text is a page of the contract or refused on purpose', () => {
  const number = fc.oneof(noise, fc.integer().map(String), fc.double().map(String));
  fc.assert(
    fc.property(number, number, (page, perPage) => {
      const request = httpRequest({ query: { inbox: 'false', page, per_page: perPage } });
      const refused = problemFor(() => parsePage(request));
      if (refused) return;
      const parsed = parsePage(request);
      expect(parsed.page).toBeGreaterThanOrEqual(0);
      expect(parsed.perPage).toBeGreaterThanOrEqual(1);
      expect(parsed.perPage).toBeLessThanOrEqual(50_000);
      expect(Number.isSafeInteger(parsed.page * parsed.perPage)).toBe(true);
    }),
  );
});

test('pages of any size over batches of any size show every row once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.nat(), { maxLength: 7 }), { maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      async (batches, perPage) => {
        const seen: number[] = [];
        for (let page = 0; ; page += 1) {
          const rows: number[] = [];
          const source = (async function* () {
            yield* batches;
          })();
          for await (const batch of slice(source, page * perPage, perPage)) rows.push(...batch);
          seen.push(...rows);
          if (rows.length < perPage) break;
        }
        expect(seen).toEqual(batches.flat());
      },
    ),
  );
});
