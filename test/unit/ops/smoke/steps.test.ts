import { expect, test } from 'vitest';
import { createSteps, expectThat } from '../../../../lib/ops/smoke/steps.ts';

function recorded() {
  const clock = { ms: 0 };
  const said: string[] = [];
  const steps = createSteps(
    (text) => said.push(text),
    () => clock.ms,
  );
  return { steps, said, clock };
}

test('a step that holds is one numbered line with its time, and hands on its value', async () => {
  const { steps, said, clock } = recorded();
  const work = async () => {
    clock.ms += 1500;
    return 3;
  };
  expect(await steps('first', work, (count) => `${count} files`)).toBe(3);
  await steps('second', async () => 'done');
  expect(said).toEqual([' 1  first: 3 files (1.5 s)\n', ' 2  second: done (0 ms)\n']);
});

test('a step that does not hold prints nothing and is named in the error', async () => {
  const { steps, said } = recorded();
  await steps('first', async () => 'done');
  const failing = steps('second', async () => {
    expectThat(1 + 1 === 3, 'two is not three');
    return 'never';
  });
  await expect(failing).rejects.toThrow('step 2 failed, second: two is not three');
  expect(said).toHaveLength(1);
});
