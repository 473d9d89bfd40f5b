import { ticketKeyDocument } from '../../../contract/secrets.ts';
import type { TicketKeys } from '../../direct/htsget/token.ts';
import { CachedSecret, type SecretOptions } from './cached-secret.ts';

const lifetimeMs = 5 * 60_000;

/** The key of the tokens in htsget tickets; `ticketKeyDocument` has the form of its secret. */
export function secretTicketKeys(options: SecretOptions): TicketKeys {
  const parse = ({ key }: { readonly key: string }) => Buffer.from(key);
  const secret = new CachedSecret(options, { shape: ticketKeyDocument, parse, lifetimeMs });
  return { current: () => secret.get(), refreshed: () => secret.refreshed() };
}
