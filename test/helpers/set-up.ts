import { expect } from 'vitest';

/** Vitest compares typed arrays element by element, which takes seconds for 200 kB. As strict as vitest: same class, same bytes. */
expect.addEqualityTesters([
  (one: unknown, other: unknown) => {
    if (!(one instanceof Uint8Array && other instanceof Uint8Array)) return undefined;
    return one.constructor === other.constructor && Buffer.compare(one, other) === 0;
  },
]);
