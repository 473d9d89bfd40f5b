import { vi } from 'vitest';

const runtime = '../../lambdas/shared/runtime.ts';

/** Give the functions that are imported after this `document` as the JSON beside their bundle: there is none in the sources. */
export function mockBundledJson(document: () => unknown): void {
  vi.doMock(runtime, async (original) => ({ ...(await original<object>()), bundledJson: document }));
}

export function unmockBundledJson(): void {
  vi.doUnmock(runtime);
}
