import { readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { picturePath } from '../../recording/svg.ts';

test('the picture of README.md is small, has a title, loads and runs nothing, and stands still for those who want that', () => {
  const picture = readFileSync(picturePath, 'utf8');
  expect(statSync(picturePath).size).toBeLessThan(200_000);
  expect(picture).toMatch(/<title id="title">.+<\/title>/);
  expect(picture).not.toMatch(/<script|\bon\w+=|href|url\(|@import/);
  const [, moving = ''] = /@media\(prefers-reduced-motion:no-preference\)\{(.*)\}$/m.exec(picture) ?? [];
  expect(moving).toContain('animation:');
  expect(picture.replace(moving, '')).not.toContain('animation:');
});
