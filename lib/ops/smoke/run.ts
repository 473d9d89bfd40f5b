import { randomBytes } from 'node:crypto';
import { basicAuthorization } from '../../client/api/connection.ts';
import type { ListedFile } from '../../client/api/proxy.ts';
import type { TransportReply, TransportRequest } from '../../client/api/transport.ts';
import { smokeIdPrefix } from '../../contract/messages.ts';
import { generateKeyPair, type KeyPair } from '../../crypt4gh/index.ts';
import type { StackResource } from '../stores/stacks.ts';
import type { Deployment, Target } from '../target.ts';
import { type Access, Users } from './callers.ts';
import type { ArchivedFile } from './files.ts';
import { quietSteps, type Steps } from './steps.ts';

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

/** Ids that no other run has. @param datasetId given when a visa for it is there already. @default - a new one */
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

/** One run of the suite on one deployment, and what its checks hand on to each other. */
export class Run implements AsyncDisposable {
  readonly ids: RunIds;
  readonly deployment: Deployment;
  readonly target: Target;
  readonly expected: Expected;
  readonly users: Users;
  readonly access: Access;
  readonly visa: string;
  /** Signs another visa, for one hour from a date on; `undefined` when no test issuer is at hand. */
  readonly issueVisa: IssueVisa | undefined;
  readonly steps: Steps;
  readonly signal: AbortSignal;
  /** Resources of both stacks. @throws the errors of CloudFormation */
  readonly resources: () => Promise<readonly StackResource[]>;
  readonly recipient: KeyPair = generateKeyPair();
  /** Set by the check `archive`. */
  files: readonly ArchivedFile[] = [];
  hidden: ArchivedFile | undefined;
  /** Set by the check of `POST /export/{archive_kind}`. */
  requestId = '';
  /** Set by the check `outbox`: the containers. */
  listed: readonly ListedFile[] = [];

  constructor(parts: {
    readonly ids: RunIds;
    readonly deployment: Deployment;
    readonly target: Target;
    readonly expected: Expected;
    readonly access: Access;
    readonly visa: string;
    readonly issueVisa?: IssueVisa | undefined;
    /** @default - they print nothing */
    readonly steps?: Steps;
    readonly signal: AbortSignal;
    readonly resources: () => Promise<readonly StackResource[]>;
  }) {
    this.ids = parts.ids;
    this.deployment = parts.deployment;
    this.target = parts.target;
    this.expected = parts.expected;
    this.access = parts.access;
    this.visa = parts.visa;
    this.issueVisa = parts.issueVisa;
    this.steps = parts.steps ?? quietSteps;
    this.signal = parts.signal;
    this.resources = parts.resources;
    this.users = new Users(parts.access);
  }

  /** The largest file of the run: more than 8 MiB. */
  get large(): ArchivedFile {
    return this.file((a, b) => a.decryptedSize >= b.decryptedSize);
  }

  /** The file whose id needs every kind of encoding in a path. */
  get awkward(): ArchivedFile {
    return this.file((a, b) => a.fileId.length >= b.fileId.length);
  }

  file(better: (a: ArchivedFile, b: ArchivedFile) => boolean): ArchivedFile {
    return this.files.reduce((best, each) => (better(each, best) ? each : best));
  }

  /** Those that the deployment has, whatever the settings say. */
  get apis(): readonly ApiRequest['api'][] {
    return this.access.dataOutUrl === undefined ? ['proxy'] : ['proxy', 'data-out'];
  }

  /** Headers of a researcher at the proxy. */
  get asResearcher(): Record<string, string> {
    return { authorization: basicAuthorization(this.access.archiveUser), 'x-ga4gh-visa': this.visa };
  }

  get asAdministrator(): Record<string, string> {
    return { authorization: basicAuthorization(this.access.admin) };
  }

  get asReader(): Record<string, string> {
    return { authorization: `Bearer ${this.visa}` };
  }

  /** Send one request, once. */
  send({ api, path, ...request }: ApiRequest): Promise<TransportReply> {
    const base = api === 'proxy' ? this.access.proxyUrl : this.access.dataOutUrl;
    if (base === undefined) throw new Error('the deployment has no data-out API');
    const url = new URL(`${base.replace(/\/$/, '')}/${path}`);
    return this.users.transport.send({ ...request, url, signal: this.signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.users[Symbol.asyncDispose]();
  }
}
