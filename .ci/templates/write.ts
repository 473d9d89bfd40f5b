import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stacksOfVariants } from '../../test/helpers/variants.ts';

// Writes the templates of both stacks, with each of the settings that tests use, to a folder: for `.ci/templates/run`.
const [folder = ''] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const outdir = mkdtempSync(join(tmpdir(), 'data-out-'));
try {
  for (const { name, app } of stacksOfVariants(outdir)) {
    for (const { stackName, templateFullPath } of app.synth().stacks) {
      copyFileSync(templateFullPath, join(folder, `${name}.${stackName}.template.json`));
    }
  }
} finally {
  rmSync(outdir, { recursive: true });
}
