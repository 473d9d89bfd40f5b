import { expect, test } from 'vitest';
import { settings } from '../../bin/settings.ts';
import { suite } from '../../lib/ops/smoke/suite.ts';
import { templatesOf } from '../helpers/synthesized.ts';

test('a remedy of the smoke test names functions and outputs that the stacks have', () => {
  const { stored, served } = templatesOf(settings);
  const functions = Object.keys(served.findResources('AWS::Lambda::Function')).map(
    (id) => /^Functions(\w+)Function[0-9A-F]{8}$/.exec(id)?.[1],
  );
  const outputs = [stored, served].flatMap((template) => Object.keys(template.findOutputs('*')));
  // Such as StageFile; and each word after "function".
  const named = suite.flatMap(({ remedy }) => [
    ...(remedy.match(/\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b/g) ?? []),
    ...[...remedy.matchAll(/\bfunction ([A-Z]\w+)/g)].map(([, name]) => name),
  ]);
  expect(named.length).toBeGreaterThan(6);
  expect(named.filter((name) => ![...functions, ...outputs].includes(name))).toEqual([]);
});
