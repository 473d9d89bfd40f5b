/** What SQS takes as X-Ray header. Lambda may add more fields to its own. */
const field = /(?:^|;)((?:Root=1-[0-9a-f]{8}-[0-9a-f]{24})|(?:Parent=[0-9a-f]{16})|(?:Sampled=[01?]))(?=;|$)/g;

/** X-Ray headers of the messages at hand, by the export that each is of. */
let followed: ReadonlyMap<string, string> = new Map();

interface TracedMessage {
  readonly requestId: string;
  /** Its system attribute `AWSTraceHeader`. */
  readonly header: string | undefined;
}

/** Continue the traces of these messages, and no others. To be called once an invocation. */
export function followTraces(messages: readonly TracedMessage[]): void {
  followed = new Map(
    messages.flatMap(({ requestId, header }) => {
      const plain = plainHeader(header);
      return plain === undefined ? [] : [[requestId, plain]];
    }),
  );
}

/**
 * The X-Ray header for what is sent on behalf of a request: that of the message at hand, so that one trace leads from the
 * administrator's request to the receipt. Without one it is that of this invocation.
 */
export function traceOf(requestId: string): string | undefined {
  return followed.get(requestId) ?? plainHeader(process.env._X_AMZN_TRACE_ID);
}

/** An export as fields of its log lines. They call its id `requestId`, as its messages, reply and receipt do. */
export function exportFields({ requestId }: { readonly requestId: string }): {
  readonly requestId: string;
  readonly trace?: string;
} {
  return { requestId, ...traceField(requestId) };
}

/** A request that has just asked for an export, as fields of its log line, whose `requestId` is the call's own. */
export function requestedFields(
  { requestId }: { readonly requestId: string },
  published: { readonly requestId: string },
): Record<string, string> {
  return { requestId, exportRequestId: published.requestId, ...traceField(published.requestId) };
}

/** Trace of an export as a field of its log lines: the id under which X-Ray shows it. */
function traceField(requestId: string): { readonly trace?: string } {
  const [, trace] = /^Root=([^;]+)/.exec(traceOf(requestId) ?? '') ?? [];
  return trace === undefined ? {} : { trace };
}

/** Root, parent and sampling of a header, which begins with the root. `undefined` for anything else. */
function plainHeader(header = ''): string | undefined {
  const fields = [...header.matchAll(field)].map(([, text = '']) => text);
  return fields[0]?.startsWith('Root=') ? fields.join(';') : undefined;
}
