/**
 * Takes the place of `@smithy/core/event-streams` in the bundles (`lib/infra/functions/bundling.ts`). No operation that the functions call
 * has an event stream. The SDK imports the module dynamically. For that, esbuild keeps all of `@smithy/core`, in wrappers that
 * run at each cold start.
 *
 * @throws Error with the first use. No client is expected to get there.
 */
export class EventStreamSerde {
  constructor() {
    eventStreamSerdeProvider();
  }
}

/** As {@link EventStreamSerde}. */
export function eventStreamSerdeProvider(): never {
  throw new Error('the bundles hold no event streams: see lambdas/shared/no-event-streams.ts');
}

/** A client calls this when it is made. The SDK's own would make a marshaller; a client without event streams uses none. */
export function resolveEventStreamSerdeConfig<Config>(config: Config): Config {
  return config;
}
