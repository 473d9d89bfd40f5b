import { formatPublicKey } from '../../../crypt4gh/index.ts';
import { counted } from '../../../terminal/output.ts';
import { type Check, NotApplicable, poll } from '../check.ts';
import type { ApiRequest, Run } from '../run.ts';
import { expectThat } from '../steps.ts';

/** Seconds that an export may take: a paused cluster and cold functions are a part of it. */
const exportSeconds = 180;
/** Seconds until a new administrator is known to all functions. */
const administratorSeconds = 90;
const drs = 'ga4gh/drs/v1';

interface Route {
  /** As in `docs/openapi`: `proxy GET /files`. */
  readonly operation: string;
  readonly request: (run: Run) => Omit<ApiRequest, 'api' | 'method'>;
  /** @default 200 */
  readonly status?: number;
  /** Looks at the reply. @returns what was seen. @throws when it is not the promised one. @default - the status is all */
  readonly inspect?: (run: Run, reply: { readonly text: string; header(name: string): string | undefined }) => string;
  readonly needs?: readonly string[];
}

const withKey = (run: Run) => ({
  ...run.asReader,
  'public-key': Buffer.from(run.recipient.publicKey).toString('base64'),
});
const passports = (run: Run) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ passports: [run.visa] }),
});
const fileId = (run: Run) => encodeURIComponent(run.large.fileId);
/** Its path has one segment. */
const namedFile = (run: Run) => `files/${fileId(run)}/${encodeURIComponent(run.large.path)}`;
const staged = (run: Run) => encodeURIComponent(run.listed[0]?.name ?? '');
const json = (text: string): Record<string, unknown> => JSON.parse(text);

/** `POST /export/{archive_kind}` and the wait for its end are the checks `export` and `exported`. */
const outboxRoutes: readonly Route[] = [
  {
    operation: 'proxy GET /export/{archive_kind}',
    request: (run) => ({ path: `export/${run.expected.archiveKind}`, headers: run.asAdministrator }),
    needs: ['exported'],
    inspect: (run, { text }) => {
      const { exports } = json(text) as { exports: { requestId: string }[] };
      expectThat(
        exports.some(({ requestId }) => requestId === run.requestId),
        'the export is not in the list',
      );
      return `${counted(exports.length, 'export')}, this one among them`;
    },
  },
  {
    operation: 'proxy GET /files',
    request: (run) => ({ path: 'files?inbox=false&per_page=1', headers: run.asResearcher }),
    needs: ['exported'],
    inspect: (_run, { text }) => {
      const { files } = json(text) as { files: unknown[] };
      expectThat(files.length === 1, `${files.length} rows came, 1 was asked for`);
      return 'a page of one row';
    },
  },
  {
    operation: 'proxy GET /stream/{file}',
    request: (run) => ({ path: `stream/${staged(run)}`, headers: run.asResearcher }),
    needs: ['outbox'],
    status: 307,
    inspect: (_run, { header }) => {
      expectThat(URL.canParse(header('location') ?? ''), 'there is no Location');
      expectThat(header('cache-control')?.includes('no-store') === true, 'the reply may be cached');
      return 'a presigned address, not to be cached';
    },
  },
  {
    operation: 'proxy HEAD /stream/{file}',
    request: (run) => ({ path: `stream/${staged(run)}`, headers: run.asResearcher }),
    needs: ['outbox'],
    inspect: (run, { header }) => saysSize(header, run.listed[0]?.size),
  },
];

/** Routes of direct access that take the visa. */
const visaRoutes: readonly Route[] = [
  {
    operation: 'data-out GET /metadata/datasets',
    request: (run) => ({ path: 'metadata/datasets', headers: run.asReader }),
    inspect: (run, { text }) => {
      expectThat((JSON.parse(text) as unknown[]).includes(run.ids.datasetId), 'the dataset is not listed');
      return run.ids.datasetId;
    },
  },
  {
    operation: 'data-out GET /metadata/datasets/{datasetId}/files',
    request: (run) => ({
      path: `metadata/datasets/${encodeURIComponent(run.ids.datasetId)}/files`,
      headers: run.asReader,
    }),
    inspect: (run, { text }) => {
      const { length } = JSON.parse(text) as unknown[];
      expectThat(length === run.files.length, `${length} files are listed, not ${run.files.length}`);
      return `${length} files`;
    },
  },
  {
    operation: 'data-out GET /files/{fileId}',
    request: (run) => ({ path: `files/${fileId(run)}`, headers: { ...run.asReader, range: 'bytes=0-9' } }),
    status: 206,
  },
  {
    operation: 'data-out HEAD /files/{fileId}',
    request: (run) => ({ path: `files/${fileId(run)}`, headers: run.asReader }),
    inspect: (run, { header }) => saysSize(header, run.large.decryptedSize),
  },
  {
    operation: 'data-out GET /files/{fileId}/{name}',
    request: (run) => ({ path: namedFile(run), headers: { ...run.asReader, range: 'bytes=0-9' } }),
    status: 206,
  },
  {
    operation: 'data-out HEAD /files/{fileId}/{name}',
    request: (run) => ({ path: namedFile(run), headers: run.asReader }),
    inspect: (run, { header }) => saysSize(header, run.large.decryptedSize),
  },
  {
    operation: 'data-out GET /files/{fileId}/header',
    request: (run) => ({ path: `files/${fileId(run)}/header`, headers: withKey(run) }),
    inspect: (_run, { text }) => {
      expectThat(text.startsWith('crypt4gh'), 'this is no Crypt4GH header');
      return 'a Crypt4GH header';
    },
  },
  {
    operation: 'data-out HEAD /files/{fileId}/header',
    request: (run) => ({ path: `files/${fileId(run)}/header`, headers: withKey(run) }),
  },
  {
    operation: 'data-out GET /files/{fileId}/content',
    request: (run) => ({ path: `files/${fileId(run)}/content`, headers: run.asReader }),
    status: 307,
  },
  {
    operation: 'data-out HEAD /files/{fileId}/content',
    request: (run) => ({ path: `files/${fileId(run)}/content`, headers: run.asReader }),
    inspect: (run, { header }) => saysSize(header, run.large.archivedSize),
  },
  {
    operation: `data-out GET /${drs}/objects/{object_id}`,
    request: (run) => ({ path: `${drs}/objects/${fileId(run)}`, headers: run.asReader }),
    inspect: isLargeObject,
  },
  {
    operation: `data-out POST /${drs}/objects/{object_id}`,
    request: (run) => ({ path: `${drs}/objects/${fileId(run)}`, ...passports(run) }),
    inspect: isLargeObject,
  },
  {
    operation: `data-out GET /${drs}/objects/{object_id}/access/{access_id}`,
    request: (run) => ({ path: `${drs}/objects/${fileId(run)}/access/plaintext`, headers: run.asReader }),
  },
  {
    operation: `data-out POST /${drs}/objects/{object_id}/access/{access_id}`,
    request: (run) => ({ path: `${drs}/objects/${fileId(run)}/access/plaintext`, ...passports(run) }),
  },
];

/** Routes that ask for no credentials. */
const openRoutes: readonly Route[] = [
  {
    operation: 'proxy GET /.well-known/jwks.json',
    request: () => ({ path: '.well-known/jwks.json' }),
    inspect: hasKeys,
  },
  { operation: 'proxy GET /openapi.json', request: () => ({ path: 'openapi.json' }) },
  {
    operation: `data-out OPTIONS /${drs}/objects/{object_id}`,
    request: (run) => ({ path: `${drs}/objects/${fileId(run)}` }),
  },
  { operation: `data-out GET /${drs}/service-info`, request: () => ({ path: `${drs}/service-info` }) },
  { operation: 'data-out GET /service-info', request: () => ({ path: 'service-info' }) },
  { operation: 'data-out GET /openapi.json', request: () => ({ path: 'openapi.json' }) },
];

const routes: readonly Route[] = [
  ...outboxRoutes,
  ...visaRoutes.map((route) => ({ ...route, needs: ['visa'] })),
  ...openRoutes,
];

const remedy =
  'Look for the request in the access log of the API and in the log of its function: docs/runbook.md says where they are.';

function saysSize(header: (name: string) => string | undefined, size: number | undefined): string {
  expectThat(header('x-file-size') === String(size), `X-File-Size is ${header('x-file-size')}, not ${size}`);
  return `X-File-Size is right, Content-Length is ${header('content-length') ?? 'absent'}`;
}

function hasKeys(_run: Run, { text }: { readonly text: string }): string {
  const { keys } = json(text) as { keys: unknown[] };
  expectThat(keys.length > 0, 'there is no key');
  return counted(keys.length, 'key');
}

function isLargeObject(run: Run, { text }: { readonly text: string }): string {
  const { id, size } = json(text);
  expectThat(id === run.large.fileId && size === run.large.decryptedSize, 'id or size is another one');
  return `${size} bytes`;
}

function routeCheck({ operation, request, status = 200, inspect, needs = [] }: Route): Check {
  const [api, method] = operation.split(' ') as [ApiRequest['api'], NonNullable<ApiRequest['method']>];
  return {
    id: operation,
    title: operation,
    needs: ['archive', ...needs],
    remedy,
    async run(run) {
      if (api === 'data-out') needsDirectAccess(run);
      const reply = await run.send({ api, method, ...request(run) });
      // The archived body is fetched by its address. A reply of a route is small.
      const text = await reply.text();
      expectThat(reply.status === status, `${reply.status}, expected ${status}${problemCode(text)}`);
      const seen = inspect?.(run, { text, header: reply.header });
      return seen === undefined ? `${status}` : `${status}, ${seen}`;
    },
  };
}

/** The code of a problem document: its sentences may be long. */
function problemCode(text: string): string {
  const [, code] = /"code":"(\w+)"/.exec(text) ?? [];
  return code === undefined ? '' : ` (${code})`;
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
    const reply = await run.send({ api: 'proxy', path: 'admin', headers: run.asAdministrator });
    await reply.discard();
    expectThat(reply.status === 200 || reply.status === 404, `${reply.status}, expected 200 or 404`);
    return reply.status === 200 ? '200' : '404: the setting adminPage is off';
  },
};

const exportDataset: Check = {
  id: 'export',
  title: 'proxy POST /export/{archive_kind}',
  needs: ['archive', 'users', 'visa'],
  remedy:
    'A 401 for minutes: look whether the function reads the secret of the output AdminSecretArn. A 404: was archiveKind in private/settings.ts deployed? Else as for other routes.',
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
      const reply = await run.send({ api: 'proxy', method: 'POST', path, headers, body });
      const text = await reply.text();
      // Functions read the secret of the administrators again within a minute.
      if (reply.status === 401) return undefined;
      expectThat(reply.status === 200, `${reply.status}, expected 200${problemCode(text)}`);
      return String(json(text).requestId);
    }, wait);
    return `200, ${run.requestId} after ${Math.round((Date.now() - started) / 1000)} s`;
  },
};

const exported: Check = {
  id: 'exported',
  title: 'proxy GET /export/{archive_kind}/{requestId}: the export is complete',
  needs: ['export'],
  remedy:
    'Ask data-out-ops audit for the reason, and look at the dead-letter queues and the logs of ConsumeExport and StageFile.',
  async run(run) {
    const path = `export/${run.expected.archiveKind}/${run.requestId}`;
    const wait = { seconds: exportSeconds, signal: run.signal, what: 'the export has no end' };
    const { state, reason, bytes } = await poll(async () => {
      const reply = await run.send({ api: 'proxy', path, headers: run.asAdministrator });
      const text = await reply.text();
      if (reply.status === 404) return undefined;
      expectThat(reply.status === 200, `${reply.status}, expected 200${problemCode(text)}`);
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
      const reply = await run.send({ api, path: 'openapi.json' });
      const { paths } = json(await reply.text()) as { paths: Record<string, object> };
      for (const [path, item] of Object.entries(paths)) {
        for (const method of Object.keys(item).filter((name) =>
          /^(get|post|head|options|put|patch|delete)$/.test(name),
        )) {
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
export const routeChecks: readonly Check[] = [...routes.map(routeCheck), administratorPage, documents];

/** Every operation that the suite calls, as `proxy GET /files`. */
export const operations: readonly string[] = [
  'proxy POST /export/{archive_kind}',
  'proxy GET /export/{archive_kind}/{requestId}',
  administratorPage.id,
  ...routes.map(({ operation }) => operation),
];
