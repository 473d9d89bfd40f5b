import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stacksOfVariants, variants } from '../../test/helpers/variants.ts';

// Writes the templates of both stacks to a folder, with the settings that are named, or with each that tests use: for `.ci/templates/run`.
const [folder = '', ...names] = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(variants, name));
if (unknown.length > 0) throw new Error(`no test uses the settings ${unknown}`);
mkdirSync(folder, { recursive: true });
const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
try {
  for (const { name, app } of stacksOfVariants(outdir)) {
    if (names.length > 0 && !names.includes(name)) continue;
    for (const { stackName, templateFullPath } of app.synth().stacks) {
      copyFileSync(templateFullPath, join(folder, `${name}.${stackName}.template.json`));
    }
  }
} finally {
  rmSync(outdir, { recursive: true });
}
