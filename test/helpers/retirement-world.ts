import type { Timing } from '../../lib/common/timing.ts';
import { runOps } from '../../lib/ops/program.ts';
import type { Terminal } from '../../lib/terminal/terminal.ts';
import { makeTerminal, type ToolRun } from './ops-world.ts';
import {
  initialState,
  type PlatformState,
  packageToken,
  type RegistryServer,
  repositoryToken,
} from './registry-server.ts';

/** A clock that a sleep moves on at once. */
export function fakeTiming(): Timing & { readonly slept: number[] } {
  let now = Date.parse('2026-11-21T10:00:00.000Z');
  const slept: number[] = [];
  return {
    slept,
    now: () => new Date(now),
    random: () => 0,
    async sleep(milliseconds, signal) {
      signal?.throwIfAborted();
      slept.push(milliseconds);
      now += milliseconds;
    },
  };
}

/** The names of the release on the test platform that is retired. */
export const names = {
  org: 'acme',
  repository: 'archive',
  package: 'proxy',
  component: 'proxy',
  version: '1.2.0',
  replacement: '1.2.1',
} as const;

export interface RetireRun extends ToolRun {
  /** Seconds that would have been waited. */
  readonly slept: readonly number[];
}

/** Run `data-out-ops retire-release` against a test platform. */
export async function retireRelease(
  server: RegistryServer,
  argv: readonly string[],
  choices: Partial<Terminal> & { readonly named?: Partial<Record<keyof typeof names, string>> } = {},
): Promise<RetireRun> {
  const { named, ...terminalChoices } = choices;
  const env = {
    REGISTRY_API_URL: server.url,
    REGISTRY_PACKAGE_TOKEN: packageToken,
    REGISTRY_REPO_TOKEN: repositoryToken,
    ...terminalChoices.env,
  };
  const { terminal, said } = makeTerminal({ ...terminalChoices, env });
  const timing = fakeTiming();
  const options = Object.entries({ ...names, ...named }).flatMap(([name, value]) => [`--${name}`, value]);
  const noTarget = () => Promise.reject(new Error('a retirement needs no deployment'));
  const exitCode = await runOps(['retire-release', ...options, ...argv], terminal, noTarget, timing, '0.1.0');
  return { exitCode, ...said, slept: timing.slept.map((milliseconds) => milliseconds / 1000) };
}

/** The checklist's end state; everything else as it was. */
export function retired(): PlatformState {
  const { versions, releases, tags } = initialState();
  const { 'proxy-1.2.0': _deleted, ...left } = tags;
  return {
    versions: versions.filter(({ id }) => id !== 105),
    releases: releases.map((each) =>
      each.id === 10 ? { ...each, name: 'Proxy 1.2.0-verified-broken', draft: true } : each,
    ),
    tags: left,
  };
}
