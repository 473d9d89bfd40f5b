import { git } from './checkout.ts';
import type { Log } from './run-steps.ts';

/** Says of itself what it is for. */
const squashed = 'lib/service/stores/rds/migrations/squashed.txt';

/** What a tree says of its migrations. */
export interface MigrationsOfTree {
  /** Ids of the files' contents by their names. */
  readonly files: ReadonlyMap<string, string>;
  /** Lines of the file that tells of squashed migrations. */
  readonly squashes: readonly string[];
}

/**
 * The commit from which an upgrade starts: where this branch left `main`, or what `main` had before.
 *
 * @param tree of today @returns `undefined` in a clone that does not have it
 */
export async function baseOf(tree: string, log: Log): Promise<string | undefined> {
  const ask = async (...argv: readonly string[]) => (await git(log, argv).catch(() => '')).trim();
  const main =
    (await ask('rev-parse', '--verify', '--quiet', 'origin/main')) || (await ask('rev-parse', '--verify', 'main'));
  const fork = main && (await ask('merge-base', 'HEAD', main));
  const isSame = (await ask('rev-parse', 'HEAD')) === fork && (await ask('rev-parse', 'HEAD^{tree}')) === tree;
  return (isSame ? await ask('rev-parse', '--verify', '--quiet', 'HEAD^') : fork) || undefined;
}

export async function migrationsOf(tree: string, log: Log): Promise<MigrationsOfTree> {
  const lines = (await git(log, ['ls-tree', '-r', tree])).split('\n');
  const found = lines.map((line) => /^\d+ blob (\w+)\t.*\/rds\/migrations\/(\d{4}-.+\.sql)$/.exec(line));
  const files = new Map(found.flatMap((match) => (match ? [[match[2] ?? '', match[1] ?? ''] as const] : [])));
  const said = await git(log, ['show', `${tree}:${squashed}`]).catch(() => '');
  return { files, squashes: said.split('\n').filter((line) => /^\d{4}-\d\d-\d\d: /.test(line)) };
}

/**
 * Whether a database of the base can be brought up to date.
 *
 * @returns `undefined` if it can; otherwise what was said of the squash
 * @throws Error when the base's migrations were changed, and nothing says so
 */
export function squashSince(base: MigrationsOfTree, today: MigrationsOfTree): string | undefined {
  const changed = [...base.files].filter(([name, content]) => today.files.get(name) !== content).map(([name]) => name);
  if (changed.length === 0) return undefined;
  const said = today.squashes.filter((line) => !base.squashes.includes(line));
  if (said.length > 0) return said.join('; ');
  throw new Error(
    `${changed.join(', ')} differ from the base. Bring them back, or say in ${squashed} that they are squashed`,
  );
}
