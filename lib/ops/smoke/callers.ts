import { connect } from '../../client/api/connection.ts';
import { DataOutApi } from '../../client/api/data-out.ts';
import { ProxyApi } from '../../client/api/proxy.ts';
import { Transport } from '../../client/api/transport.ts';
import type { Connection } from '../../contract/connection.ts';

/** Where the service is, and who may use it. */
export type Access = Pick<Connection, 'proxyUrl' | 'dataOutUrl' | 'admin' | 'archiveUser'>;

/** The people of a run, each with their own credentials. Dispose of it at the end: it ends connections. */
export class Users implements AsyncDisposable {
  readonly transport = new Transport({ userAgent: 'data-out-smoke' });
  readonly #connection: Access;

  constructor(connection: Access) {
    this.#connection = connection;
  }

  /** Exports. */
  administrator(): ProxyApi {
    const { proxyUrl, admin } = this.#connection;
    return new ProxyApi(connect({ proxyUrl, basic: async () => admin, transport: this.transport }));
  }

  /** Lists and downloads. */
  researcher(visa: string): ProxyApi {
    const { proxyUrl, archiveUser } = this.#connection;
    const basic = async () => archiveUser;
    return new ProxyApi(connect({ proxyUrl, basic, visa: async () => visa, transport: this.transport }));
  }

  /** Direct access. */
  program(visa: string): DataOutApi {
    const { dataOutUrl } = this.#connection;
    return new DataOutApi(connect({ dataOutUrl, visa: async () => visa, transport: this.transport }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.transport.close();
  }
}
