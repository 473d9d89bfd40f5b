import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { compactVerify } from 'jose';
import type { DeliveryReceipt, FileState } from '../../lib/contract/delivery.ts';
import { signDigest } from '../../lib/local/kms/ecdsa.ts';
import type {
  FannedOutRequest,
  ReceiptRecords,
  RequestEnd,
  RequestedFile,
} from '../../lib/service/export/ledger-port.ts';
import type { ReceiptOutbox, ReceiptSigner } from '../../lib/service/export/ports.ts';
import type { FinalizeDependencies } from '../../lib/service/export/receipt/finalize.ts';
import { joseSignature } from '../../lib/service/stores/receipt-signer.ts';
import { FakeArchive } from './fake-archive.ts';
import { FakeOutbox } from './fake-outbox.ts';
import { PortCalls } from './port-calls.ts';

export const requestId = '11111111-1111-4111-8111-111111111111';
export const newerRequestId = '22222222-2222-4222-8222-222222222222';
export const recipient = 'ab'.repeat(32);
export const fingerprint = 'cd'.repeat(32);

/** A sealed request of the dataset EGAD1. */
export function fannedOutRequest(overrides: Partial<FannedOutRequest> = {}): FannedOutRequest {
  return {
    requestId,
    requestedAt: '2026-11-21T09:00:00.000Z',
    kind: 'dataset',
    datasetId: 'EGAD1',
    fileId: undefined,
    recipient,
    keyFingerprint: fingerprint,
    state: 'accepted',
    receiptRevision: 1,
    finalizedRevision: 0,
    isOpen: false,
    ...overrides,
  };
}

/** A file that this request staged. */
export function stagedFile(fileId: string, overrides: Partial<RequestedFile> = {}): RequestedFile {
  return {
    fileId,
    state: 'staged',
    reason: undefined,
    path: `runs/${fileId}.bam`,
    plaintextSize: 65_536,
    plaintextSha256: '12'.repeat(32),
    newest: {
      requestId,
      keyFingerprint: fingerprint,
      outboxKey: `${recipient}/${fileId}-${fileId}.bam.c4gh`,
      size: 65_688,
      crc64nvme: 'AAAAAAAAAAA=',
      headerSha256: '34'.repeat(32),
    },
    supersededBy: undefined,
    ...overrides,
  };
}

/** A file that ended without a container. */
export function endedFile(fileId: string, state: FileState, reason?: string): RequestedFile {
  return stagedFile(fileId, { state, reason, newest: undefined });
}

/** The log of one request, in memory, with the rules of the tables. */
export class FakeDeliveryLog implements ReceiptRecords {
  request: FannedOutRequest | undefined = fannedOutRequest();
  rows: RequestedFile[] = [];
  /** Rows of a page. */
  pageSize = 2;
  end: RequestEnd | undefined;
  /** The last revision whose receipt exists. */
  lastReceipt = 0;
  /** Called before a page is read, with its number. */
  onPage: (page: number) => void = () => {};
  readonly #calls: PortCalls;

  constructor(calls: PortCalls) {
    this.#calls = calls;
  }

  find(id: string): Promise<FannedOutRequest | undefined> {
    return this.#calls.run('ledger.find', () => (this.request?.requestId === id ? this.request : undefined));
  }

  async *files(): AsyncGenerator<readonly RequestedFile[]> {
    for (let start = 0; start < this.rows.length; start += this.pageSize) {
      yield await this.#calls.run('ledger.files', () => {
        this.onPage(start / this.pageSize);
        return this.rows.slice(start, start + this.pageSize);
      });
    }
  }

  finalize({ receiptRevision }: Pick<FannedOutRequest, 'receiptRevision'>, end: RequestEnd): Promise<boolean> {
    return this.#calls.run('ledger.finalize', () => {
      if (!this.request || this.request.receiptRevision !== receiptRevision || this.request.isOpen) return false;
      this.end = end;
      this.request = { ...this.request, state: end.state };
      return true;
    });
  }

  close({ receiptRevision }: Pick<FannedOutRequest, 'receiptRevision'>, hasReceipt: boolean): Promise<void> {
    return this.#calls.run('ledger.close', () => {
      if (!this.request) throw new Error('no such request');
      if (this.request.finalizedRevision >= receiptRevision) return;
      this.request = { ...this.request, finalizedRevision: receiptRevision };
      if (hasReceipt) this.lastReceipt = receiptRevision;
    });
  }
}

/** A real key, which signs digests as KMS does. */
class FakeSigner implements ReceiptSigner {
  readonly publicKey: KeyObject;
  readonly #secret: Buffer;
  readonly #calls: PortCalls;

  constructor(calls: PortCalls) {
    this.#calls = calls;
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.publicKey = pair.publicKey;
    this.#secret = Buffer.from(String(pair.privateKey.export({ format: 'jwk' }).d), 'base64url');
  }

  identity(): Promise<{ readonly kid: string }> {
    return this.#calls.run('signer.identity', () => ({ kid: 'key-1' }));
  }

  sign(digest: Uint8Array): Promise<Uint8Array> {
    return this.#calls.run('signer.sign', () => joseSignature(signDigest(digest, this.#secret)));
  }
}

/** All ports of finalizing, in memory, with one record of the calls they received. */
export class ReceiptWorld {
  readonly calls = new PortCalls();
  readonly log = new FakeDeliveryLog(this.calls);
  readonly outbox = new FakeOutbox(this.calls, new FakeArchive(this.calls));
  readonly signer = new FakeSigner(this.calls);
  now = new Date('2026-11-21T10:00:00.900Z');

  /** @param outbox instead of the one in memory */
  dependencies(outbox: ReceiptOutbox = this.outbox): Required<FinalizeDependencies> {
    return {
      ledger: this.log,
      receipts: { outbox, signer: this.signer, issuer: 'org.example.data-out' },
      now: () => this.now,
    };
  }

  /** Name and bytes of the only object in the outbox. */
  receipt(): { readonly key: string; readonly jws: string } {
    const [[key, object] = [], ...others] = this.outbox.objects;
    if (key === undefined || !object || others.length > 0) throw new Error('expected one object in the outbox');
    return { key, jws: Buffer.from(object.bytes).toString('latin1') };
  }

  /** What the receipt says, checked by another library. */
  async verified(): Promise<{ readonly header: unknown; readonly text: string; readonly payload: DeliveryReceipt }> {
    const { payload, protectedHeader } = await compactVerify(this.receipt().jws, this.signer.publicKey);
    const text = Buffer.from(payload).toString();
    return { header: protectedHeader, text, payload: JSON.parse(text) as DeliveryReceipt };
  }
}

export const sha256 = (bytes: string | Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
