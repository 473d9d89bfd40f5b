import { formatPublicKey } from '../../../crypt4gh/index.ts';
import { counted } from '../../../terminal/output.ts';
import { type Check, NotApplicable, poll } from '../check.ts';
import { namesOfReads } from '../reads.ts';
import type { Answer, ApiRequest, Run } from '../run.ts';
import { expectThat } from '../steps.ts';

/** Seconds that an export may take: a paused cluster and cold functions are a part of it. */
const exportSeconds = 180;
/** Seconds until a new administrator is known to all functions. */
const administratorSeconds = 90;
const drs = 'ga4gh/drs/v1';
/** A part of htsget as a ticket names it, of a version that no file has. */
const noPart = `${'0'.repeat(32)}.records.0_0-1_0`;

type Sent = Pick<ApiRequest, 'headers' | 'body'>;

/** How a route is asked for with the ids of the run, and what it promises. */
interface Route {
  /** @default - none */
  readonly query?: string;
  /** @default - the visa for `visaRoutes`, else nothing */
  readonly send?: (run: Run) => Sent;
  /** @default 200 */
  readonly status?: number;
  /** Looks at the reply. @returns what was seen. @throws when it is not the promised one. @default - the status is all */
  readonly inspect?: (run: Run, reply: Answer) => string;
  readonly needs?: readonly string[];
}

/** By the operation, as in `docs/openapi`: `proxy GET /files`. */
type Routes = Readonly<Record<string, Route>>;

const asAdministrator = (run: Run): Sent => ({ headers: run.asAdministrator });
const asResearcher = (run: Run): Sent => ({ headers: run.asResearcher });
const asReader = (run: Run): Sent => ({ headers: run.asReader });
const ofTenBytes = (run: Run): Sent => ({ headers: { ...run.asReader, range: 'bytes=0-9' } });
const withKey = ({ asReader, recipient }: Run): Sent => ({
  headers: { ...asReader, 'public-key': Buffer.from(recipient.publicKey).toString('base64') },
});
const withPassport = (run: Run): Sent => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ passports: [run.visa] }),
});
const withRegions = (run: Run): Sent => ({
  headers: { ...run.asReader, 'content-type': 'application/json' },
  body: JSON.stringify({ regions: [{ referenceName: 'chr1', start: 99_000, end: 101_000 }] }),
});
const json = (text: string): Record<string, unknown> => JSON.parse(text);

/** What stands for the braces of a path. A file's own path has one segment. */
function pathOf(template: string, { ids, listed, large, reads, expected }: Run): string {
  const values: Readonly<Record<string, string | undefined>> = {
    archive_kind: expected.archiveKind,
    file: listed[0]?.name,
    datasetId: ids.datasetId,
    fileId: large.fileId,
    name: large.path,
    object_id: large.fileId,
    access_id: 'plaintext',
    id: reads?.fileId,
    part: noPart,
  };
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? '')).slice(1);
}

/** `POST /export/{archive_kind}` and the wait for its end are the checks `export` and `exported`. */
const outboxRoutes: Routes = {
  'proxy GET /export/{archive_kind}': {
    send: asAdministrator,
    needs: ['exported'],
    inspect: (run, { text }) => {
      const { exports } = json(text) as { exports: { requestId: string }[] };
      const isListed = exports.some(({ requestId }) => requestId === run.requestId);
      expectThat(isListed, 'the export is not in the list');
      return `${counted(exports.length, 'export')}, this one among them`;
    },
  },
  'proxy GET /files': {
    query: 'inbox=false&per_page=1',
    send: asResearcher,
    needs: ['exported'],
    inspect: (_run, { text }) => {
      const { files } = json(text) as { files: { fileName: string }[] };
      expectThat(files.length === 1, `${files.length} rows came, 1 was asked for`);
      expectThat(files[0]?.fileName.endsWith('.c4gh') === true, `${files[0]?.fileName} is not a container`);
      return 'a page of one container';
    },
  },
  'proxy GET /stream/{file}': {
    send: asResearcher,
    needs: ['outbox'],
    status: 307,
    inspect: (_run, { header }) => {
      expectThat(URL.canParse(header('location') ?? ''), 'there is no Location');
      return isUncached(header);
    },
  },
  'proxy HEAD /stream/{file}': {
    send: asResearcher,
    needs: ['outbox'],
    inspect: (run, reply) => saysSize(reply, run.listed[0]?.size),
  },
};

// The file of the run has the name of a BAM, and other bytes: whoever says so has opened and decrypted it.
const uncut: Route = { status: 400, inspect: cannotBeCut };

/** Routes of direct access that take the visa. */
const visaRoutes: Routes = {
  'data-out GET /metadata/datasets': {
    inspect: (run, { text }) => {
      expectThat((JSON.parse(text) as unknown[]).includes(run.ids.datasetId), 'the dataset is not listed');
      return run.ids.datasetId;
    },
  },
  'data-out GET /metadata/datasets/{datasetId}/files': {
    inspect: (run, { text }) => {
      const { length } = JSON.parse(text) as unknown[];
      expectThat(length === run.files.length, `${length} files are listed, not ${run.files.length}`);
      return `${length} files`;
    },
  },
  'data-out GET /files/{fileId}': { send: ofTenBytes, status: 206 },
  'data-out HEAD /files/{fileId}': { inspect: saysPlaintextSize },
  'data-out GET /files/{fileId}/{name}': { send: ofTenBytes, status: 206 },
  'data-out HEAD /files/{fileId}/{name}': { inspect: saysPlaintextSize },
  'data-out GET /files/{fileId}/header': {
    send: withKey,
    inspect: (_run, { text }) => {
      expectThat(text.startsWith('crypt4gh'), 'this is not a Crypt4GH header');
      return 'a Crypt4GH header';
    },
  },
  'data-out HEAD /files/{fileId}/header': { send: withKey },
  'data-out GET /files/{fileId}/content': { status: 307 },
  'data-out HEAD /files/{fileId}/content': { inspect: (run, reply) => saysSize(reply, run.large.archivedSize) },
  [`data-out GET /${drs}/objects/{object_id}`]: { inspect: isLargeObject },
  [`data-out POST /${drs}/objects/{object_id}`]: { send: withPassport, inspect: isLargeObject },
  [`data-out GET /${drs}/objects/{object_id}/access/{access_id}`]: {},
  [`data-out POST /${drs}/objects/{object_id}/access/{access_id}`]: { send: withPassport },
  'data-out GET /htsget/reads/{id}': {
    query: 'referenceName=chr1&start=0&end=1000',
    inspect: (_run, reply) => hasRead(reply, 'first'),
  },
  'data-out POST /htsget/reads/{id}': { send: withRegions, inspect: (_run, reply) => hasRead(reply, 'second') },
  // It has no variants.
  'data-out GET /htsget/variants/{id}': uncut,
  'data-out POST /htsget/variants/{id}': { send: withRegions, ...uncut },
  'data-out GET /htsget/parts/{id}/{part}': { status: 404 },
  'data-out HEAD /htsget/parts/{id}/{part}': { status: 404 },
};

/** Routes that ask for no credentials. */
const openRoutes: Routes = {
  'proxy GET /.well-known/jwks.json': { inspect: hasKeys },
  'proxy GET /openapi.json': {},
  [`data-out OPTIONS /${drs}/objects/{object_id}`]: {},
  [`data-out GET /${drs}/service-info`]: {},
  'data-out OPTIONS /htsget/reads/{id}': { status: 204 },
  'data-out OPTIONS /htsget/variants/{id}': { status: 204 },
  'data-out OPTIONS /htsget/parts/{id}/{part}': { status: 204 },
  'data-out GET /htsget/reads/service-info': {},
  'data-out GET /htsget/variants/service-info': {},
  'data-out GET /service-info': {},
  'data-out GET /openapi.json': {},
};

const routes: Routes = {
  ...outboxRoutes,
  ...Object.fromEntries(
    Object.entries(visaRoutes).map(([operation, route]) => [operation, { send: asReader, needs: ['visa'], ...route }]),
  ),
  ...openRoutes,
};

const remedy =
  'Look for the request in the access log of the API and in the log of its function: docs/runbook.md says where they are.';

function isUncached(header: Answer['header']): string {
  expectThat(header('cache-control')?.includes('no-store') === true, 'the reply may be cached');
  return 'a presigned address, not to be cached';
}

function saysSize({ header }: Answer, size: number | undefined): string {
  expectThat(header('x-file-size') === String(size), `X-File-Size is ${header('x-file-size')}, not ${size}`);
  return `X-File-Size is right, Content-Length is ${header('content-length') ?? 'absent'}`;
}

function saysPlaintextSize(run: Run, reply: Answer): string {
  return saysSize(reply, run.large.decryptedSize);
}

function hasKeys(_run: Run, { text }: Answer): string {
  const { keys } = json(text) as { keys: unknown[] };
  expectThat(keys.length > 0, 'there is no key');
  return counted(keys.length, 'key');
}

/** A ticket holds so little itself. */
function hasRead({ text }: Answer, name: string): string {
  const { urls } = json(text).htsget as { urls: { url: string }[] };
  const pieces = urls.map(({ url }) => Buffer.from(url.replace(/^data:;base64,/, ''), 'base64'));
  const names = namesOfReads(Buffer.concat(pieces));
  expectThat(names.join() === name, `the reads are ${names.join()}, expected ${name}`);
  return `the read ${name}`;
}

function cannotBeCut(_run: Run, { text }: Answer): string {
  const { error } = (json(text).htsget ?? {}) as { error?: string };
  expectThat(error === 'UnsupportedFormat', `the error is ${error}`);
  return error;
}

function isLargeObject(run: Run, { text }: Answer): string {
  const { id, size } = json(text);
  expectThat(id === run.large.fileId && size === run.large.decryptedSize, 'id or size is another one');
  return `${size} bytes`;
}

function routeCheck(operation: string, { query, send, status = 200, inspect, needs = [] }: Route): Check {
  const [api, method, path] = operation.split(' ') as [ApiRequest['api'], NonNullable<ApiRequest['method']>, string];
  return {
    id: operation,
    title: operation,
    needs: ['archive', ...needs],
    remedy,
    async run(run) {
      if (api === 'data-out') needsDirectAccess(run);
      const asked = `${pathOf(path, run)}${query === undefined ? '' : `?${query}`}`;
      const reply = await run.ask({ api, method, path: asked, ...send?.(run) }, status);
      const seen = inspect?.(run, reply);
      return seen === undefined ? `${status}` : `${status}, ${seen}`;
    },
  };
}

/** @throws NotApplicable when the deployment has none */
export function needsDirectAccess({ apis }: Run): void {
  if (!apis.includes('data-out')) throw new NotApplicable('the deployment has no direct access');
}

const administratorPage: Check = {
  id: 'proxy GET /admin',
  title: 'proxy GET /admin',
  needs: ['archive', 'export'],
  remedy,
  async run(run) {
    const { status } = await run.ask({ api: 'proxy', path: 'admin', headers: run.asAdministrator }, 200, 404);
    return status === 200 ? '200' : '404: the setting adminPage is off';
  },
};

const exportDataset: Check = {
  id: 'export',
  title: 'proxy POST /export/{archive_kind}',
  needs: ['archive', 'users', 'visa'],
  remedy:
    'A 401 for minutes: check whether the function reads the secret of the output AdminSecretArn. A 404: was archiveKind in private/settings.ts deployed? Else as for other routes.',
  async run(run) {
    const started = Date.now();
    const body = JSON.stringify({
      id: run.ids.datasetId,
      visaToken: run.visa,
      userPublicKey: formatPublicKey(run.recipient.publicKey),
    });
    const headers = { ...run.asAdministrator, 'content-type': 'application/json' };
    const path = `export/${run.expected.archiveKind}`;
    const wait = { seconds: administratorSeconds, signal: run.signal, what: 'the administrator is still refused' };
    run.requestId = await poll(async () => {
      const { status, text } = await run.ask({ api: 'proxy', method: 'POST', path, headers, body }, 200, 401);
      // Functions read the secret of the administrators again within a minute.
      return status === 401 ? undefined : String(json(text).requestId);
    }, wait);
    return `200, ${run.requestId} after ${Math.round((Date.now() - started) / 1000)} s`;
  },
};

const exported: Check = {
  id: 'exported',
  title: 'proxy GET /export/{archive_kind}/{requestId}: the export is complete',
  needs: ['export'],
  remedy: 'Find the reason with data-out-ops audit, and check the logs of ConsumeExport and StageFile.',
  async run(run) {
    const path = `export/${run.expected.archiveKind}/${run.requestId}`;
    const wait = { seconds: exportSeconds, signal: run.signal, what: 'the export has no end' };
    const { state, reason, bytes } = await poll(async () => {
      const { status, text } = await run.ask({ api: 'proxy', path, headers: run.asAdministrator }, 200, 404);
      if (status === 404) return undefined;
      const shown = json(text);
      return shown.state === 'accepted' || shown.state === 'staging' ? undefined : shown;
    }, wait);
    expectThat(state === 'complete', `the export is ${state}${reason === null ? '' : ` (${reason})`}`);
    return `200, complete, ${bytes} bytes`;
  },
};

const documents: Check = {
  id: 'openapi',
  title: 'the suite calls every operation of both documents that the deployment serves',
  remedy: 'Run the suite of the version that is deployed: check out its tag.',
  async run(run) {
    const known = new Set(operations);
    let count = 0;
    for (const api of run.apis) {
      const { text } = await run.ask({ api, path: 'openapi.json' }, 200);
      const { paths } = json(text) as { paths: Record<string, object> };
      for (const [path, item] of Object.entries(paths)) {
        for (const method of Object.keys(item)) {
          if (!/^(get|post|head|options|put|patch|delete)$/.test(method)) continue;
          const operation = `${api} ${method.toUpperCase()} ${path}`;
          expectThat(known.has(operation), `${operation} is served, and the suite does not call it`);
          count += 1;
        }
      }
    }
    return `${count} operations`;
  },
};

/** The export and its end; later checks use what it staged. */
export const exportChecks = [exportDataset, exported];
export const routeChecks: readonly Check[] = [
  ...Object.entries(routes).map(([operation, route]) => routeCheck(operation, route)),
  administratorPage,
  documents,
];

/** Every operation that the suite calls, as `proxy GET /files`. */
export const operations: readonly string[] = [
  'proxy POST /export/{archive_kind}',
  'proxy GET /export/{archive_kind}/{requestId}',
  administratorPage.id,
  ...Object.keys(routes),
];
