import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settings } from '../../../bin/settings.ts';
import { filesPerReceipt } from '../../../lib/contract/delivery.ts';
import { denyListBytes } from '../../../lib/contract/deny-list.ts';
import { limits } from '../../../lib/contract/limits.ts';
import { encryptHeader, headerLimits } from '../../../lib/crypt4gh/index.ts';
import { reservedForDirectFiles } from '../../../lib/infra/settings.ts';
import { concurrencyOf } from '../../../lib/ops/preflight/preflight.ts';
import { mostBodyBytes } from '../../../lib/regions/htsget/request.ts';
import { largestSmallBody } from '../../../lib/service/containers/plan.ts';
import { inlinedBytes } from '../../../lib/service/direct/htsget/serve-ticket.ts';
import { lateDays } from '../../../lib/service/export/quota.ts';
import { readPage } from '../../helpers/pages.ts';
import { templatesOf } from '../../helpers/synthesized.ts';

/** A constant that its file does not export: a product of whole numbers. */
function constant(path: string, name: string): number {
  const source = readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');
  const [, value] = new RegExp(`const ${name} = ([\\d_]+(?: \\* [\\d_]+)*);`).exec(source) ?? [];
  if (value === undefined) throw new Error(`${path} has no constant ${name} that is a product of numbers`);
  return value.split(' * ').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1);
}

/** Time limit of a function. */
function minutes(path: string, name: string): number {
  const source = readFileSync(join(import.meta.dirname, '../../../lib/infra/functions', path), 'utf8');
  const [, value] =
    new RegExp(`make\\('${name}', [^]*?limits: \\[\\d+, Duration\\.minutes\\((\\d+)\\)`).exec(source) ?? [];
  if (value === undefined) throw new Error(`${path} has no ${name} with a time limit in minutes`);
  return Number(value);
}

const mebibyte = 2 ** 20;
const { throttling, urlLifetimeSeconds, outboxExpiryDays } = settings;
const { stored, served } = templatesOf(settings);
const concurrency = concurrencyOf([stored.toJSON(), served.toJSON()]);
/** A queue hides a message for six times as long as its function may take. */
const hiddenMinutes = (name: string) => 6 * minutes('workers.ts', name);
const oneReader = encryptHeader({ dataKeys: [new Uint8Array(32)], recipients: [new Uint8Array(32).fill(9)] }).length;

/** Numbers on pages that the code knows: the page, words of it with `#` for the numbers, and where these come from. */
const numbers: readonly (readonly [page: string, words: string, ...values: number[]])[] = [
  ['docs/delivery.md', 'lists at most # files', filesPerReceipt],
  ['docs/glossary.md', '*parts* of # files', filesPerReceipt],
  ['docs/api.md', 'body of an export | # bytes, else 400', limits.exportBodyBytes],
  ['docs/api.md', 'the visa or passport of an export | # bytes', limits.visaBytes],
  ['docs/api.md', 'a passport | # visas; # bytes', limits.visasPerPassport, limits.passportBytes],
  ['docs/api.md', 'DRS request | #, with # visas in all', limits.passportsPerRequest, limits.visasPerRequest],
  ['docs/api.md', 'in a body or a token | # levels', limits.jsonDepth],
  ['docs/api.md', 'stored hash is bcrypt | # bytes', constant('lib/service/http/passwords.ts', 'bcryptBytes')],
  ['docs/api.md', 'all headers | # bytes', limits.requestHeaderBytes],
  ['docs/api.md', 'a streamed reply | # bytes', limits.streamedReplyBytes],
  ['docs/api.md', 'and ends it at # MB', limits.streamedReplyBytes / 1e6],
  ['docs/api.md', 'container of at most # bytes is streamed', limits.streamedContainerBytes],
  ['docs/api.md', 'header of an archived file | # bytes', limits.headerBytes],
  ['docs/api.md', 'rows of a listing page | #.', limits.filesPerPage],
  ['docs/api.md', 'all files, up to #;', limits.filesWithoutPages],
  ['docs/api.md', 'files of one export | #', limits.filesPerExport],
  ['docs/api.md', 'newest exports, # per `page`', limits.exportsPerPage],
  ['docs/api.md', 'with # files per `page`', limits.exportedFilesPerPage],
  ['docs/api.md', 'at most # files under way', constant('lib/service/export/export-records.ts', 'mostCounted')],
  [
    'docs/api.md',
    'one htsget request | #, in # bytes',
    constant('lib/regions/htsget/request.ts', 'mostRegions'),
    mostBodyBytes,
  ],
  ['docs/api.md', 'Up to # MiB of plaintext is in the ticket', inlinedBytes / mebibyte],
  [
    'docs/api.md',
    '# per second with bursts of #; for each below `/export`, for `/admin` and for `/ega/token` # with bursts of #',
    ...[throttling.requestsPerSecond, throttling.burst, throttling.export.requestsPerSecond, throttling.export.burst],
  ],
  ['docs/api.md', '`urlLifetimeSeconds` (default #)', urlLifetimeSeconds],
  ['docs/api.md', 'a staged container | # days', outboxExpiryDays],
  ['docs/api.md', 'one container | 48.8 TiB, # parts', constant('lib/service/containers/plan.ts', 'mostParts')],
  ['docs/api.md', 'a header (# bytes for one reader)', oneReader],
  ['docs/api.md', 'at most # characters', constant('lib/service/direct/drs.ts', 'longestBearer')],
  ['docs/crypt4gh.md', '# packets', headerLimits.packets],
  ['docs/crypt4gh.md', '# MiB, # writers', headerLimits.bytes / mebibyte, headerLimits.writers],
  [
    'docs/crypt4gh.md',
    '# data keys and an edit list of # lengths',
    headerLimits.dataKeys,
    headerLimits.editListLengths,
  ],
  ['docs/trusted-issuers.md', 'has room for # bytes', denyListBytes],
  [
    'docs/trusted-issuers.md',
    '(default #, which is 366 days)',
    constant('lib/visas/trusted-issuers.ts', 'defaultMaxLifetimeSeconds'),
  ],
  ['docs/trusted-issuers.md', 'with # seconds of leeway', constant('lib/visas/token.ts', 'clockSkewSeconds')],
  ['docs/trusted-issuers.md', '# characters for `source`', constant('lib/visas/visa.ts', 'urlClaimLength')],
  ['docs/trusted-issuers.md', 'RSA keys under # bits', constant('lib/visas/keys.ts', 'minimumRsaBits')],
  ['docs/trusted-issuers.md', '# days after', constant('lib/ops/secrets/deny-list.ts', 'usefulMs') / 86_400_000],
  ['docs/architecture.md', 'files over # MiB', largestSmallBody / mebibyte],
  ['docs/decisions/exports.md', 'body of up to # MiB', largestSmallBody / mebibyte],
  [
    'docs/decisions/exports.md',
    'start # at a time',
    constant('lib/service/containers/adaptive-concurrency.ts', 'mostInFlight'),
  ],
  ['docs/decisions/exports.md', 'at most # files', filesPerReceipt],
  ['docs/operators.md', 'use up to # at once', concurrency.queues],
  ['docs/operators.md', 'the direct API reserves #', concurrency.reserved],
  ['docs/operators.md', 'AWS keeps # unreserved', constant('lib/ops/preflight/preflight.ts', 'alwaysUnreserved')],
  ['docs/settings.md', "1–1000, or 'off' | `#` |", reservedForDirectFiles(settings)],
  ['docs/operations.md', '`Migrate` can take # minutes', minutes('functions.ts', 'Migrate')],
  ['docs/settings.md', 'until # days after `outboxExpiryDays`', lateDays],
  ['docs/runbook.md', 'its messages return after # minutes', hiddenMinutes('StageFile')],
  ['docs/runbook.md', 'longer than # bytes', limits.headerBytes],
  ['docs/runbook.md', 'slows guessing to # attempts per second on each route', throttling.export.requestsPerSecond],
];

const rows = numbers.map(([page, words, ...values]) => ({ page, words, values }));

test.each(rows)('$page: $words', ({ page, words, values }) => {
  const said = values.reduce((text: string, value) => text.replace('#', value.toLocaleString('en')), words);
  expect(readPage(page).replaceAll(/\s+/g, ' ')).toContain(said);
});
