/** What limits how fast files are staged. `POSITIVE_INFINITY` stands for a limit that AWS does not state. */
export interface Quotas {
  /** Invocations of `stage-file` at once: the setting `concurrency.fileExports`, at most 1,000. */
  readonly concurrency: number;
  /** Invocations at once when a queue begins to be read, and how many are added in a second. */
  readonly ramp: { readonly start: number; readonly perSecond: number };
  /** Requests per second and prefix: PUT, COPY, POST, DELETE. */
  readonly s3Writes: number;
  /** Requests per second and prefix: GET, HEAD. */
  readonly s3Reads: number;
  /** Prefixes that share the load. */
  readonly prefixes: number;
  /** Messages that a queue has given out and not yet deleted. */
  readonly sqsInFlight: number;
  /** Calls per second. */
  readonly dataApi: number;
  /** Cryptographic operations a second. */
  readonly kms: number;
}

/** Files of one size, and what a file costs. */
export interface Work {
  readonly files: number;
  readonly filesPerInvocation: number;
  readonly secondsPerInvocation: number;
  readonly callsPerFile: Readonly<Record<'s3Writes' | 's3Reads' | 'dataApi' | 'kms', number>>;
}

/** Seconds that each limit alone calls for. */
export type Seconds = Readonly<
  Record<'concurrency' | 's3Writes' | 's3Reads' | 'sqsInFlight' | 'dataApi' | 'kms', number>
>;

/** How long the work takes at least. The largest of these figures is the answer, and its name is what binds first. */
export function secondsToStage(work: Work, quotas: Quotas): Seconds {
  const { files, callsPerFile } = work;
  const at = (rate: number, calls: number) => (files * calls) / rate;
  return {
    concurrency: rampedSeconds((files / work.filesPerInvocation) * work.secondsPerInvocation, quotas),
    s3Writes: at(quotas.s3Writes * quotas.prefixes, callsPerFile.s3Writes),
    s3Reads: at(quotas.s3Reads * quotas.prefixes, callsPerFile.s3Reads),
    sqsInFlight: at(quotas.sqsInFlight, work.secondsPerInvocation),
    dataApi: at(quotas.dataApi, callsPerFile.dataApi),
    kms: at(quotas.kms, callsPerFile.kms),
  };
}

/** The limit that binds first. */
export function binding(seconds: Seconds): { readonly name: keyof Seconds; readonly seconds: number } {
  const [[name, longest]] = (Object.entries(seconds) as [keyof Seconds, number][]).sort(([, a], [, b]) => b - a) as [
    [keyof Seconds, number],
  ];
  return { name, seconds: longest };
}

/** Seconds for `work` (invocations × their seconds) when concurrency grows evenly from its start to its end. */
function rampedSeconds(work: number, { concurrency, ramp }: Quotas): number {
  const start = Math.min(ramp.start, concurrency);
  const rampSeconds = (concurrency - start) / ramp.perSecond;
  const rampWork = (rampSeconds * (start + concurrency)) / 2;
  if (work > rampWork) return rampSeconds + (work - rampWork) / concurrency;
  // The area under start + perSecond × t.
  return (Math.sqrt(start ** 2 + 2 * ramp.perSecond * work) - start) / ramp.perSecond;
}
