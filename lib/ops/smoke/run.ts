import { randomBytes } from 'node:crypto';
import { basicAuthorization, connect } from '../../client/api/connection.ts';
import { type ListedFile, ProxyApi } from '../../client/api/proxy.ts';
import { Transport, type TransportReply, type TransportRequest } from '../../client/api/transport.ts';
import type { Connection } from '../../contract/connection.ts';
import { smokeIdPrefix } from '../../contract/messages.ts';
import { stackNames } from '../../contract/outputs.ts';
import { generateKeyPair } from '../../crypt4gh/index.ts';
import { findResource } from '../stores/stacks.ts';
import type { Deployment, Target } from '../target.ts';
import { DirectReader } from './direct-reader.ts';
import type { ArchivedFile } from './files.ts';
import { expectThat, quietSteps, type Steps } from './steps.ts';

/** Where the service is, and who may use it. */
export type Access = Pick<Connection, 'proxyUrl' | 'dataOutUrl' | 'admin' | 'archiveUser'>;

/** What the operator's settings promise of the deployment. */
export interface Expected {
  /** Last segment of `POST /export/{archive_kind}`. */
  readonly archiveKind: string;
  readonly deliveryReceipt: boolean;
}

export type IssueVisa = (subject: string, datasetId: string, issuedAt: Date) => Promise<string>;

/** Ids of one run of the suite. */
export interface RunIds {
  /** Of the dataset with the files; begins with {@link smokeIdPrefix}. */
  readonly datasetId: string;
  /** Of a dataset that is not released. */
  readonly hiddenId: string;
  /** Name of the users that the run makes. */
  readonly username: string;
}

/** Ids that no other run has. @param datasetId given when a visa for it exists already. @default - a new one */
export function runIds(now: Date, datasetId?: string): RunIds {
  const stamp = now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const unique = `${stamp}-${randomBytes(4).toString('hex')}`;
  const id = datasetId ?? `${smokeIdPrefix}${unique}`;
  return { datasetId: id, hiddenId: `${id}-hidden`, username: `smoke-${unique.toLowerCase()}` };
}

/** A request as it goes over the wire; paths are relative to the API. */
export type ApiRequest = Omit<TransportRequest, 'url' | 'signal'> & {
  readonly api: 'proxy' | 'data-out';
  readonly path: string;
};

/** A small reply. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  header(name: string): string | undefined;
}

/** What a run begins with. */
interface RunParts {
  readonly ids: RunIds;
  readonly deployment: Deployment;
  readonly target: Target;
  readonly expected: Expected;
  readonly access: Access;
  readonly visa: string;
  /** Signs another visa, for one hour from a date on; `undefined` when no test issuer is at hand. */
  readonly issueVisa?: IssueVisa | undefined;
  /** @default - they print nothing */
  readonly steps?: Steps;
  readonly signal: AbortSignal;
  /** Suffix of the stack names. */
  readonly stage?: string | undefined;
}

/** What checks hand on to later ones. */
interface Found {
  /** Set by the check `archive`. */
  files: readonly ArchivedFile[];
  hidden: ArchivedFile | undefined;
  /** Set by the check of `POST /export/{archive_kind}`. */
  requestId: string;
  /** Set by the check `outbox`: the containers. */
  listed: readonly ListedFile[];
}

/** One run of the suite on one deployment. Dispose of it at the end: it ends connections. */
export type Run = ReturnType<typeof startRun>;

export function startRun(parts: RunParts) {
  const { access, visa, signal, deployment } = parts;
  const { proxyUrl, dataOutUrl, admin, archiveUser } = access;
  const transport = new Transport({ userAgent: 'data-out-smoke' });
  const found: Found = { files: [], hidden: undefined, requestId: '', listed: [] };
  const directUrl = () => {
    if (dataOutUrl === undefined) throw new Error('the deployment has no data-out API');
    return dataOutUrl;
  };
  return {
    ...{ steps: quietSteps, ...parts, ...found, transport, recipient: generateKeyPair() },
    /** Those that the deployment has, whatever the settings say. */
    apis: (dataOutUrl === undefined ? ['proxy'] : ['proxy', 'data-out']) as readonly ApiRequest['api'][],
    /** Headers of a researcher at the proxy. */
    asResearcher: { authorization: basicAuthorization(archiveUser), 'x-ga4gh-visa': visa },
    asAdministrator: { authorization: basicAuthorization(admin) },
    asReader: { authorization: `Bearer ${visa}` },

    /** Exports. */
    administrator: () => new ProxyApi(connect({ proxyUrl, basic: async () => admin, transport })),
    /** Lists and downloads. */
    researcher: (token = visa) =>
      new ProxyApi(connect({ proxyUrl, basic: async () => archiveUser, visa: async () => token, transport })),
    /** Direct access. */
    program: () => new DirectReader(directUrl(), connect({ visa: async () => visa, transport }), signal),

    /** A resource of the stacks: see {@link findResource}. */
    resource: (type: string, begin: string) =>
      findResource(Object.values(stackNames(parts.stage)), { type, begin }, deployment.clientOptions('cloudFormation')),

    /** The largest file of the run: more than 8 MiB. */
    get large(): ArchivedFile {
      return this.files.reduce((best, each) => (each.decryptedSize >= best.decryptedSize ? each : best));
    },

    /** The small BAM, which lies beside its index. */
    get reads(): ArchivedFile | undefined {
      return this.files.find(({ path }) => path === 'reads.bam');
    },

    /** The file whose id needs every kind of encoding in a path. */
    get awkward(): ArchivedFile {
      return this.files.reduce((best, each) => (each.fileId.length >= best.fileId.length ? each : best));
    },

    /** Send one request, once. */
    send({ api, path, ...request }: ApiRequest): Promise<TransportReply> {
      const base = api === 'proxy' ? proxyUrl : directUrl();
      const url = new URL(`${base.replace(/\/$/, '')}/${path}`);
      return transport.send({ ...request, url, signal });
    },

    /** Send one request, and read its reply, which is small. @throws OpsError for another status than these */
    async ask(request: ApiRequest, ...statuses: readonly number[]): Promise<Answer> {
      const reply = await this.send(request);
      const text = await reply.text();
      // The code of a problem document: its sentences may be long.
      const [, code] = /"code":"(\w+)"/.exec(text) ?? [];
      const what = `${reply.status}, expected ${statuses.join(' or ')}${code === undefined ? '' : ` (${code})`}`;
      expectThat(statuses.includes(reply.status), what);
      return { status: reply.status, text, header: (name) => reply.header(name) };
    },

    [Symbol.asyncDispose]: () => transport.close(),
  };
}
