import { randomBytes } from 'node:crypto';
import { accountId } from '../template/names.ts';
import type { Caller } from './access.ts';
import type { Statement } from './policy.ts';

/** A caller of the AWS endpoint, and what it may do. */
export interface Principal extends Caller {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Present for the credentials of a role, absent for long-lived ones. */
  readonly sessionToken: string | undefined;
}

/** The access keys of one engine. New ones at every start. */
export class Credentials {
  readonly #principals = new Map<string, Principal>();

  /** Credentials as Lambda gives them to a function: those of a session of its role. */
  issueForRole(name: string, arn: string, statements: readonly Statement[]): Principal {
    return this.#add('ASIA', { name, arn, sessionToken: randomBytes(48).toString('base64'), statements });
  }

  /** Long-lived credentials. */
  issueForUser(name: string, statements: readonly Statement[]): Principal {
    const arn = `arn:aws:iam::${accountId}:user/${name}`;
    return this.#add('AKIA', { name, arn, sessionToken: undefined, statements });
  }

  find(accessKeyId: string): Principal | undefined {
    return this.#principals.get(accessKeyId);
  }

  #add(prefix: string, caller: Omit<Principal, 'accessKeyId' | 'secretAccessKey'>): Principal {
    const accessKeyId = prefix + randomBytes(8).toString('hex').toUpperCase();
    const principal = { ...caller, accessKeyId, secretAccessKey: randomBytes(30).toString('base64url') };
    this.#principals.set(accessKeyId, principal);
    return principal;
  }
}
