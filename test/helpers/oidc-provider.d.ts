/** The package has no types. Tests use these parts. */
declare module 'oidc-provider' {
  // biome-ignore lint/suspicious/noExplicitAny: what the provider keeps has no types
  type Untyped = any;
  export default class Provider {
    constructor(issuer: string, configuration: object);
    readonly DeviceCode: Untyped;
    readonly Grant: Untyped;
    use(middleware: (context: Untyped, next: () => Promise<void>) => Promise<void>): void;
    callback(): (request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => void;
  }
}

declare module 'oidc-provider/lib/adapters/memory_adapter.js' {
  export default class MemoryAdapter {}
}
