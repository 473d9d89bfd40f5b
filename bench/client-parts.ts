/** Loaded into a process of the installed client, by `--import`: measures the parts of a download from outside. */
import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import promises, { open } from 'node:fs/promises';

/** The parts, in the order in which a download begins them; `end`: from the last new name to the end of the process. */
export const partNames = [
  ...(['list', 'key set and receipts', 'address', 'first byte', 'receive'] as const),
  ...(['digest', 'write', 'sync', 'rename', 'end'] as const),
];
type Part = (typeof partNames)[number];
/** Milliseconds of each, in which at least one such piece of work continued: several run at once. */
export type Parts = Readonly<Record<Part, number>>;

type Interval = readonly [start: number, end: number];
interface Request {
  readonly path: string;
}
/** Functions by their names: of a module, of a prototype, of an instance of WebAssembly. */
type Functions = Record<string, (...args: unknown[]) => unknown>;

const intervals = new Map<Part, Interval[]>();
const note = (part: Part, start: number) => {
  const all = intervals.get(part) ?? [];
  all.push([start, performance.now()]);
  intervals.set(part, all);
};

/** Times calls, until the promise of an asynchronous one is settled. */
function timed(part: Part, functions: object, names: readonly string[]): void {
  for (const name of names) {
    const original = (functions as Functions)[name];
    if (original === undefined) throw new Error(`there is no ${name} to time`);
    (functions as Functions)[name] = function (this: unknown, ...args) {
      const start = performance.now();
      const callback = args.at(-1);
      if (typeof callback === 'function') {
        return original.call(this, ...args.slice(0, -1), (...results: unknown[]) => {
          note(part, start);
          callback(...results);
        });
      }
      const result = original.apply(this, args);
      if (!(result instanceof Promise)) note(part, start);
      else result.finally(() => note(part, start)).catch(() => undefined);
      return result;
    };
  }
}

function partOf({ path }: Request): Part {
  if (path.includes('/.well-known/') || path.includes('receipt')) return 'key set and receipts';
  if (path.includes('/files?')) return 'list';
  return path.includes('/stream') ? 'address' : 'receive';
}

function watchRequests(): void {
  const begun = new Map<object, number>();
  const on = (event: string, listener: (request: Request, now: number) => void) =>
    channel(`undici:request:${event}`).subscribe((message) => {
      listener((message as { readonly request: Request }).request, performance.now());
    });
  on('create', (request, now) => void begun.set(request, now));
  on('headers', (request, now) => {
    if (partOf(request) !== 'receive') return;
    note('first byte', begun.get(request) ?? now);
    begun.set(request, now);
  });
  on('trailers', (request, now) => note(partOf(request), begun.get(request) ?? now));
}

/** Milliseconds that the intervals cover together. */
function covered(all: readonly Interval[]): number {
  let [sum, reached] = [0, 0];
  for (const [start, end] of all.toSorted(([one], [other]) => one - other)) {
    sum += Math.max(0, end - Math.max(start, reached));
    reached = Math.max(reached, end);
  }
  return sum;
}

const report = process.env.BENCH_CLIENT_PARTS;
if (report !== undefined) {
  watchRequests();
  timed('digest', Object.getPrototypeOf(createHash('sha256')), ['update']);
  // TypeScript knows WebAssembly in browsers alone.
  const { WebAssembly } = globalThis as unknown as { WebAssembly: Functions };
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = async (...args: unknown[]) => {
    const instance = (await instantiate?.(...args)) as { readonly exports: object };
    const exported = { ...instance.exports };
    if ('Hash_Update' in exported) timed('digest', exported, ['Hash_Update']);
    return { exports: exported };
  };
  timed('rename', promises, ['rename']);
  await using handle = await open(import.meta.filename);
  const prototype: object = Object.getPrototypeOf(handle);
  timed('write', prototype, ['write']);
  timed('sync', prototype, ['datasync', 'sync']);
  process.on('exit', () => {
    note('end', Math.max(...(intervals.get('rename') ?? []).map(([, end]) => end)));
    const parts = partNames.map((name) => [name, covered(intervals.get(name) ?? [])]);
    writeFileSync(report, JSON.stringify(Object.fromEntries(parts)));
  });
}
