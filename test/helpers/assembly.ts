import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshAssembly } from '../../lib/local/template/fresh-assembly.ts';

/** Folder of the cloud assembly of this source tree. Test files run in several processes: one of them synthesizes. */
export function assembly(): Promise<string> {
  return freshAssembly({ root: join(import.meta.dirname, '../..') });
}

/** A template of the assembly. */
export async function template(stack: 'DataOutStorage' | 'DataOutService'): Promise<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(await assembly(), `${stack}.template.json`), 'utf8'));
}
