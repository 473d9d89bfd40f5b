import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { errorName, storeFailure } from '../aws-failure.ts';
import { MalformedSecretError } from './cached-secret.ts';

const what = 'Secrets Manager';

/** A secret that holds JSON, as an operator edits it. Functions read secrets by `CachedSecret`. */
export class JsonSecret {
  readonly #client: SecretsManagerClient;
  readonly #secretArn: string;

  constructor(options: { readonly client: SecretsManagerClient; readonly secretArn: string }) {
    this.#client = options.client;
    this.#secretArn = options.secretArn;
  }

  /** The parsed value; `undefined` for a secret that never had one. @throws MalformedSecretError when it is not JSON */
  async read(): Promise<unknown> {
    let text: string | undefined;
    try {
      text = (await this.#client.send(new GetSecretValueCommand({ SecretId: this.#secretArn }))).SecretString;
    } catch (error) {
      if (errorName(error) === 'ResourceNotFoundException') return undefined;
      throw storeFailure(error, what);
    }
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      // Without the cause: a syntax error quotes the text around it.
      throw new MalformedSecretError(`the secret ${this.#secretArn} is not JSON`);
    }
  }

  async write(value: unknown): Promise<void> {
    try {
      await this.#client.send(
        new PutSecretValueCommand({ SecretId: this.#secretArn, SecretString: JSON.stringify(value) }),
      );
    } catch (error) {
      throw storeFailure(error, what);
    }
  }
}
