import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './bundle.ts';

/** A package of which a bundle holds code. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** The text of its licence; `undefined` if the package has none. */
  readonly text: string | undefined;
}

export async function bundledPackage(name: string): Promise<BundledPackage> {
  const folder = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  return { name, version, license, text: file && (await readFile(join(folder, file), 'utf8')).trim() };
}

/** What the licences of bundled packages ask for: that they come along. @param what the files that hold their code */
export function licencesOf(what: string, packages: readonly BundledPackage[]): string {
  const texts = packages.map(({ name, version, license, text }) => {
    return text === undefined ? `${name} ${version}: ${license}\n` : `${name} ${version}: ${license}\n\n${text}\n`;
  });
  return `${what} hold parts of these packages.\n\n${texts.join(`\n${'-'.repeat(72)}\n\n`)}`;
}
