import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sourceMapsDir } from '../../contract/source-maps.ts';
import { shortName } from '../template/names.ts';

/**
 * Let a debugger show the sources of a function: put its source map beside its bundle. The bundle as it is deployed names
 * no map. An assembly without maps is left as it is.
 *
 * @param name short name of the function
 * @param taskRoot folder of its bundle, a copy that may be changed
 */
export function attachSourceMap(assemblyDir: string, name: string, taskRoot: string): void {
  const maps = join(assemblyDir, sourceMapsDir);
  const bundle = join(taskRoot, 'index.mjs');
  const file = existsSync(maps) ? readdirSync(maps).find((each) => shortName(each) === `${name}.map`) : undefined;
  if (file === undefined || !existsSync(bundle)) return;
  const map = JSON.parse(readFileSync(join(maps, file), 'utf8')) as Record<string, unknown>;
  writeFileSync(`${bundle}.map`, JSON.stringify({ ...map, sourceRoot: `${pathToFileURL(maps).href}/` }));
  appendFileSync(bundle, '\n//# sourceMappingURL=index.mjs.map\n');
}
