import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { basicAuthorization, connect } from '../../client/api/connection.ts';
import { DeliveryApi, type ListedFile } from '../../client/api/delivery-api.ts';
import { Transport } from '../../client/api/transport.ts';
import type { Connection } from '../../contract/connection.ts';
import { smokeIdPrefix } from '../../contract/messages.ts';
import { outputs } from '../../contract/outputs.ts';
import { formatPublicKey, generateKeyPair } from '../../crypt4gh/index.ts';
import type { AddedFile } from '../archive/add-file.ts';
import { OpsError } from '../errors.ts';
import { type Deployment, localDeployment, targetOf } from '../target.ts';
import { type IssueVisa, visasBy } from './issuer.ts';
import { sendOverWire, type WireReply, type WireRequest } from './wire.ts';

/** Requests until a throttled one is given up. */
const throttledAttempts = 8;

/** A file of a run, and what the archive made of it. */
export interface ArchivedFile extends AddedFile {
  readonly content: Buffer;
}

/** What the check `archive` calls its files. */
export type FileName = 'empty' | 'notes' | 'large' | 'awkward' | 'reads' | 'index';

/** Who may use the service. */
export type Access = Pick<Connection, 'admin' | 'archiveUser'> & {
  /** A user of the administrators' secret that is not one. @default - none is known */
  readonly withoutRole?: Connection['admin'];
};

/** What the operator's settings promise of the deployment. */
export interface Expected {
  /** Last segment of `POST /export/{archive_kind}`. */
  readonly archiveKind: string;
  readonly deliveryReceipt: boolean;
  readonly adminPage: boolean;
  /** Whether there are the routes for clients of other archives. @default false */
  readonly sda?: boolean;
  readonly ega?: boolean;
  /** Whether list and stream ask for the central archive's password. */
  readonly needsPassword: boolean;
}

/** Ids of one run of the suite. */
export type RunIds = ReturnType<typeof runIds>;

/** Ids that no other run has. @param datasetId given when a visa for it exists already. @default - a new one */
export function runIds(now: Date, datasetId?: string) {
  const stamp = now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const unique = `${stamp}-${randomBytes(4).toString('hex')}`;
  const id = datasetId ?? `${smokeIdPrefix}${unique}`;
  return {
    datasetId: id,
    /** Of a dataset that is not released. */
    hiddenId: `${id}-hidden`,
    /** Name of the users that the run makes. */
    username: `smoke-${unique.toLowerCase()}`,
  };
}

export type ApiName = 'delivery' | 'direct';

/** What a run begins with. */
interface RunParts {
  readonly ids: RunIds;
  readonly deployment: Deployment;
  readonly expected: Expected;
  readonly access: Access;
  readonly visa: string;
  /** `undefined` when no test issuer is at hand. */
  readonly issueVisa?: IssueVisa | undefined;
  readonly signal: AbortSignal;
  /** Called with each reply that a row of the conformance suite got. */
  readonly onReply?: ((operation: string, request: WireRequest, reply: WireReply) => void) | undefined;
}

/** One run of the suite on one deployment. Dispose of it at the end: it ends connections. */
export type Run = ReturnType<typeof startRun>;

/** A run on the local engine, as the users of its connection file. */
export async function startLocalRun(
  connection: Connection,
  parts: Pick<RunParts, 'expected' | 'signal' | 'onReply'> & Pick<Access, 'withoutRole'>,
): Promise<Run> {
  const ids = runIds(new Date());
  const deployment = localDeployment(connection);
  const issueVisa = visasBy(connection.issuer);
  const visa = await issueVisa(ids.username, ids.datasetId, new Date());
  const access = { ...connection, ...parts };
  return startRun({ ...parts, ids, deployment, access, issueVisa, visa });
}

export function startRun(parts: RunParts) {
  const { visa, signal, deployment } = parts;
  const { admin, archiveUser } = parts.access;
  const { [outputs.proxyUrl]: proxyUrl, [outputs.dataOutUrl]: dataOutUrl } = deployment.outputs;
  const transport = new Transport({ userAgent: 'data-out-smoke' });
  const urlOf = (api: ApiName) => {
    const url = api === 'delivery' ? proxyUrl : dataOutUrl;
    if (url === undefined) throw new Error('the deployment has no direct API');
    return url.replace(/\/$/, '');
  };
  return {
    ...{ ...parts, transport, urlOf, target: targetOf(deployment), recipient: generateKeyPair() },
    /** Set by the check `archive`, which what uses them needs. */
    files: [] as readonly ArchivedFile[],
    file: {} as Readonly<Record<FileName, ArchivedFile>>,
    hidden: undefined as ArchivedFile | undefined,
    /** Set by the check `export`. */
    requestId: '',
    /** Set by the check `outbox`: the containers. */
    listed: [] as readonly ListedFile[],
    /** Those that the deployment has, whatever the settings say. */
    apis: (dataOutUrl === undefined ? ['delivery'] : ['delivery', 'direct']) as readonly ApiName[],
    /** What no refusal may repeat. */
    secrets: [visa, admin.password, archiveUser.password],
    /** Headers of a researcher at the delivery API. */
    asResearcher: { authorization: basicAuthorization(archiveUser), 'x-ga4gh-visa': visa },
    asAdministrator: { authorization: basicAuthorization(admin) },
    asReader: { authorization: `Bearer ${visa}` },

    /** Lists and downloads. */
    researcher: (token = visa) =>
      new DeliveryApi(connect({ proxyUrl, basic: async () => archiveUser, visa: async () => token, transport })),
    /** Ask for the export of a dataset. @returns the reply, which has one of these statuses */
    export(id: string, visaToken: string, ...statuses: number[]): Promise<WireReply> {
      const body = JSON.stringify({ id, visaToken, userPublicKey: formatPublicKey(this.recipient.publicKey) });
      const headers = { ...this.asAdministrator, 'content-type': 'application/json' };
      return this.ask('delivery', `export/${parts.expected.archiveKind}`, { headers, body }, ...statuses);
    },
    /** What is behind a presigned address. */
    download: async (url: string | URL) => buffer((await transport.send({ url: new URL(url), signal })).body),

    /** Send one request, and again after the wait that a throttled API asks for. */
    async send(api: ApiName, request: WireRequest): Promise<WireReply> {
      for (let attempt = 1; ; attempt += 1) {
        const reply = await sendOverWire(urlOf(api), request, signal);
        if (reply.status !== 429 || attempt === throttledAttempts) return reply;
        await pause(1000 * Number(reply.headers['retry-after'] ?? 1), undefined, { signal });
      }
    },

    /** Send a GET or, with a body, a POST. @throws OpsError for another status than these */
    async ask(api: ApiName, path: string, asked: Pick<WireRequest, 'headers' | 'body'>, ...statuses: number[]) {
      const reply = await this.send(api, { method: asked.body === undefined ? 'GET' : 'POST', path, ...asked });
      if (statuses.includes(reply.status)) return reply;
      const [, code] = /"code":"(\w+)"/.exec(reply.text) ?? [];
      const what = `${reply.status}, expected ${statuses.join(' or ')}${code === undefined ? '' : ` (${code})`}`;
      throw new OpsError('verification_failed', what);
    },

    [Symbol.asyncDispose]: () => transport.close(),
  };
}
