import { expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { existing } from '../helpers/settings.ts';
import { templatesOf } from '../helpers/synthesized.ts';
import { differenceText, type TemplateJson, templateText } from '../helpers/template-text.ts';
import { variants } from '../helpers/variants.ts';

// A change of a template is a change of these files: `npx vitest run test/infra/snapshots.test.ts -u`.
const json = (change: object = {}) =>
  Object.values(templatesOf({ ...settings, ...change })).map((template) => template.toJSON() as TemplateJson);
const defaults = json();

test.each([
  ['storage', 0],
  ['service', 1],
])('the %s stack of the default settings', async (name, index) => {
  await expect(templateText(defaults[index]!)).toMatchFileSnapshot(`snapshots/${name}.txt`);
});

// Without the stage and the target, which are in each ARN.
const { stage: _stage, target: _target, ...named } = existing;
test.each([
  ['switched-on', variants['switched-on']],
  ['switched-off', variants['switched-off']],
  ['existing', named],
])('what the settings %s change', async (name, change) => {
  const texts = json(change).map((template, index) => differenceText(defaults[index]!, template));
  await expect(texts.join('\n')).toMatchFileSnapshot(`snapshots/${name}.txt`);
});
