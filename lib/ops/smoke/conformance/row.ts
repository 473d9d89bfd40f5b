import type { Wanted } from './answer.ts';

/** A request, as `requestOf` reads it, the answer that docs/api.md promises, and a body instead of the right one. */
export type Row = readonly [request: string, answer: Wanted, body?: string];

/** Rows of several requests with one answer. */
export function each(answer: Wanted, ...requests: readonly string[]): readonly Row[] {
  return requests.map((request) => [request, answer]);
}

/** What docs/openapi does not say of an operation. */
export interface Entry {
  /** The right request. @default - the credentials of the caller alone */
  readonly right?: string;
  readonly body?: string;
  /** To the right request. @default - the first status of the operation */
  readonly answer?: Wanted;
  /** Other requests and their answers. HEAD is answered as GET is. */
  readonly rows?: readonly Row[];
}
export type Table = Readonly<Record<string, Entry>>;
