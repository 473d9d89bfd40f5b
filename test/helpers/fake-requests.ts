import type { FileState, RequestState } from '../../lib/contract/delivery.ts';
import type {
  AcceptedRequest,
  Attempt,
  ExportEvent,
  FanOutProgress,
  FileEnd,
  KnownRequest,
  Receive,
  RefusedRequest,
  RequestFiles,
  Requests,
  Unsent,
} from '../../lib/service/export/ports.ts';
import type { FakeCatalogue } from './fake-catalogue.ts';
import type { PortCalls } from './port-calls.ts';

interface FakeRequest extends RefusedRequest {
  state: RequestState;
  reason?: string;
  generation: number;
  settledGeneration: number;
  sentTo: string;
  closedTo: string;
  cameFurtherAt: number;
  files: number;
  isFannedOut: boolean;
}

interface FakeFile {
  state: FileState;
  reason?: string;
  isTried: boolean;
  isLastTry: boolean;
  end?: FileEnd;
}

/** Requests, their files and the audit trail in memory, with the rules of the tables. */
export class FakeRequests implements Requests, RequestFiles {
  readonly requests = new Map<string, FakeRequest>();
  /** By request id and file id. */
  readonly files = new Map<string, FakeFile>();
  readonly events = new Map<string, ExportEvent>();
  /** Ids of files whose rows the database refuses. */
  readonly refused = new Set<string>();
  mostInFlight = 10;
  /** Files that the outbox of a recipient may hold, in the place of bytes. */
  quota = Number.POSITIVE_INFINITY;
  readonly #calls: PortCalls;
  readonly #catalogue: FakeCatalogue;

  constructor(calls: PortCalls, catalogue: FakeCatalogue) {
    this.#calls = calls;
    this.#catalogue = catalogue;
    catalogue.onAttempts = (attempts) => this.#note(attempts);
  }

  /** `file id: state` of a request, sorted. */
  statesOf(exportId: string): readonly string[] {
    return [...this.files]
      .filter(([key]) => key.startsWith(`${exportId} `))
      .map(([key, { state }]) => `${key.slice(exportId.length + 1)}: ${state}`)
      .sort();
  }

  begin(exportId: string, { count }: Receive): Promise<KnownRequest | undefined> {
    return this.#calls.run('requests.begin', () => {
      const known = this.requests.get(exportId);
      if (known) known.cameFurtherAt = Math.min(known.cameFurtherAt, count - 1);
      return known && { ...known, datasetId: known.datasetId };
    });
  }

  accept(request: AcceptedRequest, fileIds: readonly string[]): Promise<boolean> {
    return this.#calls.run('requests.accept', () => {
      if (this.#filesInOutbox(request) > this.quota) return false;
      const known = this.requests.get(request.exportId);
      if (!known) this.requests.set(request.exportId, { ...request, ...beginning, state: 'accepted' });
      else if (known.state === 'rejected' || known.state === 'failed') {
        if (known.isFannedOut) known.generation += 1;
        Object.assign(known, request, { state: 'accepted', reason: undefined, isFannedOut: false, closedTo: '' });
      }
      this.#addEvent(eventOf(request, 'accepted'));
      this.#addPending(request.exportId, fileIds);
      return true;
    });
  }

  addFiles(exportId: string, progress: FanOutProgress, fileIds: readonly string[], { count }: Receive): Promise<void> {
    return this.#calls.run('requests.addFiles', () => {
      const request = this.#request(exportId);
      if (progress.sentTo > request.sentTo) request.cameFurtherAt = count;
      this.#advance(exportId, progress);
      this.#addPending(exportId, fileIds);
    });
  }

  completeFanOut(exportId: string, progress: FanOutProgress): Promise<boolean> {
    return this.#calls.run('requests.completeFanOut', () => {
      const request = this.#advance(exportId, progress);
      const mayFinalize = this.#mayFinalize(exportId, []);
      request.isFannedOut = true;
      return mayFinalize;
    });
  }

  reject(request: RefusedRequest, reason: string): Promise<void> {
    return this.#calls.run('requests.reject', () => {
      if (!this.requests.has(request.exportId)) {
        this.requests.set(request.exportId, { ...request, ...beginning, ...final, state: 'rejected', reason });
      }
      this.#addEvent({ ...eventOf(request, 'rejected'), reason });
    });
  }

  fail(request: RefusedRequest, reason: string): Promise<void> {
    return this.#calls.run('requests.fail', () => {
      const known = this.requests.get(request.exportId);
      if (!known) this.requests.set(request.exportId, { ...request, ...beginning, ...final, state: 'failed', reason });
      else if (known.state === 'accepted' && !known.isFannedOut) Object.assign(known, { state: 'failed', reason });
      this.#addEvent({ ...eventOf(request, 'failed'), reason });
    });
  }

  closeUnsent(exportId: string, progress: FanOutProgress, { state, reason }: Unsent): Promise<boolean> {
    return this.#calls.run('requests.closeUnsent', () => {
      const { datasetId = '', fileId, closedTo } = this.#advance(exportId, progress);
      const after = closedTo > progress.sentTo ? closedTo : progress.sentTo;
      const all = this.#catalogue.datasets.get(datasetId)?.fileIds.toSorted() ?? [];
      const unsent = all.filter((id) => id > after && (fileId === undefined || id === fileId)).slice(0, 2);
      for (const id of unsent) {
        const file = this.files.get(`${exportId} ${id}`);
        if (!file || isOpen(file)) this.files.set(`${exportId} ${id}`, { ...untried, state, reason });
      }
      this.#request(exportId).closedTo = unsent.at(-1) ?? after;
      return unsent.length === 2;
    });
  }

  record(ends: readonly FileEnd[], events: readonly ExportEvent[]): Promise<readonly string[]> {
    const names = ends.map(({ state }) => state).join(' ');
    return this.#calls.run(`requestFiles.record ${names}`, () => {
      if (events.some(({ fileId = '' }) => this.refused.has(fileId))) throw new Error('the database refuses a row');
      const mayBe = ends.filter(
        ({ exportId, state }) =>
          state !== 'retrying' && this.requests.has(exportId) && this.#mayFinalize(exportId, ends),
      );
      for (const end of ends) this.#end(end);
      for (const event of events) this.#addEvent(event);
      return [...new Set(mayBe.map(({ exportId }) => exportId))];
    });
  }

  finalizable(exportIds: readonly string[]): Promise<readonly string[]> {
    return this.#calls.run('requestFiles.finalizable', () =>
      exportIds.filter((id) => {
        const { isFannedOut, settledGeneration, generation } = this.#request(id);
        return isFannedOut && settledGeneration < generation && this.#open(id).length === 0;
      }),
    );
  }

  #note(attempts: readonly Attempt[]): void {
    for (const { exportId, fileId, isFirst, isLast } of attempts) {
      const file = this.files.get(`${exportId} ${fileId}`);
      if (!file || !(isOpen(file) || (file.state === 'given_up' && isFirst))) continue;
      if (file.state === 'given_up') {
        this.#raise(exportId);
        file.state = 'pending';
        delete file.reason;
      }
      Object.assign(file, { isTried: true, isLastTry: isLast });
    }
  }

  #end(end: FileEnd): void {
    const file = this.files.get(`${end.exportId} ${end.fileId}`);
    if (!file || !(isOpen(file) || (file.state === 'given_up' && end.state === 'staged'))) return;
    if (file.state === 'given_up') this.#raise(end.exportId);
    delete file.reason;
    Object.assign(file, { state: end.state, end, isLastTry: false, ...(end.reason && { reason: end.reason }) });
  }

  #raise(exportId: string): void {
    if (this.#open(exportId).length === 0) this.#request(exportId).generation += 1;
  }

  #open(exportId: string): readonly (readonly [string, FakeFile])[] {
    return [...this.files].filter(([key, file]) => key.startsWith(`${exportId} `) && isOpen(file));
  }

  #mayFinalize(exportId: string, own: readonly FileEnd[]): boolean {
    const others = this.#open(exportId).filter(([key]) => !own.some((end) => key === `${end.exportId} ${end.fileId}`));
    return others.length <= this.mostInFlight && others.every(([, { isTried }]) => isTried);
  }

  #advance(exportId: string, { sentTo, files }: FanOutProgress): FakeRequest {
    const request = this.#request(exportId);
    if (sentTo > request.sentTo) Object.assign(request, { sentTo, files });
    return request;
  }

  #addPending(exportId: string, fileIds: readonly string[]): void {
    for (const id of fileIds) {
      const key = `${exportId} ${id}`;
      const file = this.files.get(key);
      if (!file) this.files.set(key, { ...untried, state: 'pending' });
      else if (file.state === 'given_up') Object.assign(file, { state: 'pending', reason: undefined });
    }
  }

  /** With those of `request`. A file counts once. */
  #filesInOutbox({ recipient, datasetId, fileId }: AcceptedRequest): number {
    const held = [...this.files].flatMap(([key, file]) => {
      const [exportId = '', id = ''] = key.split(' ');
      const counts = file.state === 'staged' || isOpen(file);
      return counts && this.requests.get(exportId)?.recipient === recipient ? [id] : [];
    });
    const asked = fileId === undefined ? (this.#catalogue.datasets.get(datasetId)?.fileIds ?? []) : [fileId];
    return new Set([...held, ...asked]).size;
  }

  #addEvent(event: ExportEvent): void {
    const key = `${event.exportId} ${event.event} ${event.fileId ?? ''}`;
    if (!this.events.has(key)) this.events.set(key, { ...event });
  }

  #request(exportId: string): FakeRequest {
    const request = this.requests.get(exportId);
    if (!request) throw new Error(`no request ${exportId}`);
    return request;
  }
}

const beginning = {
  generation: 1,
  settledGeneration: 0,
  sentTo: '',
  closedTo: '',
  cameFurtherAt: 0,
  files: 0,
  isFannedOut: false,
};
const final = { settledGeneration: 1, isFannedOut: true };
const untried = { isTried: false, isLastTry: false };
const isOpen = ({ state }: FakeFile) => state === 'pending' || state === 'retrying';

function eventOf({ requestedAt: _, ...facts }: RefusedRequest, event: ExportEvent['event']): ExportEvent {
  return { ...facts, event };
}
