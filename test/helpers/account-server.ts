import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { AwsClientOptions } from '../../lib/stores/aws-client-options.ts';

/** What an account answers, by service and operation: `lambda GetAccountSettings`. A number is the status of an error. */
export type Answers = Readonly<Record<string, Answer>>;
type Answer = string | { readonly status: number; readonly code: string; readonly headers?: Record<string, string> };

/**
 * An AWS account on this machine: the answers have the form that the API references of the services give. A question without
 * an answer is refused, and noted in `unknown`.
 */
export class AccountServer {
  readonly unknown: string[] = [];
  readonly asked: string[] = [];
  answers: Answers = {};
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  async start(): Promise<this> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
    return this;
  }

  get options(): AwsClientOptions {
    const { port } = this.#server.address() as AddressInfo;
    const credentials = { accessKeyId: 'AKIA0000000000000000', secretAccessKey: 'secret' };
    return { endpoint: `http://127.0.0.1:${port}`, region: 'eu-north-1', credentials };
  }

  stop(): Promise<unknown> {
    this.#server.closeAllConnections();
    return new Promise((done) => this.#server.close(done));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const [, service = ''] = /\/([a-z0-9-]+)\/aws4_request/.exec(request.headers.authorization ?? '') ?? [];
    const form = new URLSearchParams(body);
    const target = String(request.headers['x-amz-target'] ?? '')
      .split('.')
      .at(-1);
    // REST protocols name the operation by method and path.
    const operation = form.get('Action') ?? (target || `${request.method} ${request.url?.split('?')[0]}`);
    const detail = form.get('StackName') ?? (body.startsWith('{') ? JSON.parse(body).QuotaCode : undefined);
    const question = [service, operation, ...(detail === undefined ? [] : [detail])].join(' ');
    this.asked.push(question);
    const answer = this.answers[question];
    if (answer === undefined) this.unknown.push(question);
    if (typeof answer === 'string') {
      response.writeHead(200, { 'content-type': answer.startsWith('<') ? 'text/xml' : 'application/json' }).end(answer);
      return;
    }
    const { status, code, headers = {} } = answer ?? { status: 501, code: 'NotImplemented' };
    const isXml = form.has('Action') || service === 's3';
    response.writeHead(status, { 'x-amzn-errortype': code, ...headers });
    response.end(
      isXml
        ? `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>no</Message></Error></ErrorResponse>`
        : JSON.stringify({ __type: code, message: 'no' }),
    );
  }
}

/** A reply of the Query protocol. */
export function queryAnswer(action: string, result: string): string {
  return `<${action}Response><${action}Result>${result}</${action}Result></${action}Response>`;
}
