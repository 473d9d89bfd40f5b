import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Template } from './template.ts';

const stack = 'DataOutService';

interface AssetManifest {
  readonly files: Record<string, { readonly source: { readonly path?: string } }>;
}

/**
 * Copy an assembly to a folder, but take some functions of the service stack from another one, with bundle, variables and
 * settings. So a deployment looks between its first and its last function.
 *
 * @param isOther by the construct id of a function, such as `StageFile`
 */
export function mixAssemblies(
  folder: string,
  main: string,
  other: string,
  isOther: (name: string) => boolean,
): readonly string[] {
  cpSync(main, folder, { recursive: true });
  const mixed = readTemplate(folder);
  const taken: string[] = [];
  for (const [id, { Type, Properties, Metadata }] of Object.entries(readTemplate(other).Resources)) {
    const name = /\/Functions\/(\w+)\//.exec(Metadata?.['aws:cdk:path'] ?? '')?.[1];
    if (Type !== 'AWS::Lambda::Function' || name === undefined || !isOther(name)) continue;
    const present = mixed.Resources[id];
    if (!present) throw new Error(`the function ${name} has another logical id now: an upgrade would make it again`);
    Object.assign(present, { Properties });
    taken.push(name);
  }
  writeFileSync(join(folder, `${stack}.template.json`), JSON.stringify(mixed));
  const files = { ...readAssets(other).files, ...readAssets(main).files };
  for (const { source } of Object.values(readAssets(other).files)) {
    if (source.path?.startsWith('asset.')) {
      cpSync(join(other, source.path), join(folder, source.path), { recursive: true });
    }
  }
  writeFileSync(join(folder, `${stack}.assets.json`), JSON.stringify({ ...readAssets(main), files }));
  return taken.sort();
}

function readTemplate(folder: string): Template {
  return JSON.parse(readFileSync(join(folder, `${stack}.template.json`), 'utf8')) as Template;
}

function readAssets(folder: string): AssetManifest {
  return JSON.parse(readFileSync(join(folder, `${stack}.assets.json`), 'utf8')) as AssetManifest;
}
