import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { operatorFiles } from '../../lib/contract/synth.ts';
import type { Settings } from '../../lib/infra/settings.ts';
import type { TestIssuer } from '../../test/helpers/issuer.ts';
import type { Cloud } from './cloud.ts';
import type { Log, Surroundings } from './run-steps.ts';

export const repository = join(import.meta.dirname, '../..');
const smokeIssuer = 'private/smoke-issuer.json';

/** Runs Git in the repository. @param index another index than the repository's own */
export function git(log: Log, argv: readonly string[], index?: string): Promise<string> {
  const env = { ...process.env, ...(index !== undefined && { GIT_INDEX_FILE: index }) };
  return log.run(['git', ...argv], { cwd: repository, env });
}

/** The tree that a commit of today would have: tracked files as they are on the disk, and new ones. */
export async function treeOfToday(folder: string, log: Log): Promise<string> {
  const index = join(folder, 'index');
  await git(log, ['read-tree', 'HEAD'], index);
  await git(log, ['add', '--all'], index);
  return (await git(log, ['write-tree'], index)).trim();
}

/** A folder from which an operator deploys to a cloud. */
export class Checkout {
  readonly folder: string;
  readonly cloud: Cloud;

  private constructor(folder: string, cloud: Cloud) {
    this.folder = folder;
    this.cloud = cloud;
  }

  /** @param tree or a commit */
  static async of(tree: string, folder: string, cloud: Cloud, log: Log): Promise<Checkout> {
    mkdirSync(folder, { recursive: true });
    await git(log, ['archive', '--output', `${folder}.tar`, tree]);
    await log.run(['tar', 'xf', `${folder}.tar`, '-C', folder], { cwd: repository, env: process.env });
    const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8');
    if (lock(folder) === lock(repository)) symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
    else await log.run(['npm', 'ci', '--silent'], { cwd: folder, env: process.env });
    return new Checkout(folder, cloud);
  }

  get surroundings(): Surroundings {
    const { env } = this.cloud;
    return { cwd: this.folder, env: { ...env, PATH: `${join(this.folder, 'node_modules/.bin')}:${env.PATH}` } };
  }

  writeSettings(settings: Partial<Settings>): void {
    const type = "import type { Settings } from '../lib/infra/settings.ts';";
    const text = `${type}\n\nexport const settings: Partial<Settings> = ${JSON.stringify(settings, null, 2)};\n`;
    writeFileSync(join(this.folder, operatorFiles.settings), text);
  }

  /** Makes the issuer of smoke tests, and trusts it and another one. */
  async trust(issuer: TestIssuer, log: Log): Promise<void> {
    const entry = await this.node(log, 'bin/smoke.ts', '--json', '--make-issuer', smokeIssuer);
    writeFileSync(join(this.folder, operatorFiles.trustedIssuers), JSON.stringify([JSON.parse(entry), issuer.entry]));
  }

  /** Takes over the operator's files of another checkout, as an upgrade does. */
  adopt(other: Checkout): void {
    cpSync(join(other.folder, 'private'), join(this.folder, 'private'), { recursive: true });
  }

  node(log: Log, ...argv: readonly string[]): Promise<string> {
    return log.run(['node', ...argv], this.surroundings);
  }

  /** `data-out-ops --aws`. @param command without spaces in an argument @returns the objects of its result */
  async ops<T>(log: Log, command: string): Promise<readonly T[]> {
    return objects(await this.node(log, 'bin/data-out-ops.ts', '--aws', '--json', ...command.split(' ')));
  }

  cdk(log: Log, ...argv: readonly string[]): Promise<string> {
    return log.run(['cdk', ...argv], this.surroundings);
  }

  /** @returns what the command said of the stacks */
  async deploy(log: Log): Promise<string> {
    await this.cdk(log, 'deploy', '--all', '--require-approval', 'never', '--progress', 'events');
    return log.text().split('$ cdk deploy').at(-1)?.match(/✅.*/g)?.join(', ') ?? '';
  }

  /** @throws Error when a line is wrong */
  async preflight(log: Log): Promise<string> {
    const lines = objects<{ readonly result: string }>(await this.node(log, 'bin/preflight.ts', '--json'));
    return `${lines.length} lines, none is wrong`;
  }

  /** What the catalogue and the audit trail have. */
  async records(log: Log): Promise<readonly string[]> {
    const rows = [...(await this.ops(log, 'archive list')), ...(await this.ops(log, 'audit --limit 1000'))];
    return rows.map((row) => JSON.stringify(row));
  }

  /** @throws Error when a check failed */
  async smoke(log: Log): Promise<string> {
    const argv = ['node', 'bin/smoke.ts', '--aws', '--json', '--issuer', smokeIssuer];
    const { stdout } = await log.attempt(argv, this.surroundings);
    const checks = objects<{ readonly id: string; readonly result: string; readonly found: string }>(stdout);
    // The emulator takes URLs, headers and bodies of any length.
    const isExcused = ({ id, found }: { readonly id: string; readonly found: string }) => {
      const wrong = found.split('; ');
      // A long list is cut, so its last entry may be half.
      const whole = wrong.length > 1 ? wrong.slice(0, -1) : wrong;
      return id === 'limits' && whole.every((answer) => /expected 4\d\d( \w+)?, got [234]\d\d/.test(answer));
    };
    const failed = checks.filter((check) => check.result === 'failed' && !isExcused(check)).map(({ id }) => id);
    if (failed.length > 0 || checks.length === 0)
      throw new Error(`of ${checks.length} checks failed: ${failed.join(', ')}`);
    return `${checks.filter(({ result }) => result === 'passed').length} of ${checks.length} checks passed`;
  }
}

export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}

/** Lines of JSON. */
export function objects<T>(text: string): readonly T[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
