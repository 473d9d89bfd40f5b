import { expect, test } from 'vitest';
import { grantedAndReleased } from '../../../lib/export/entitlement.ts';
import { FakeCatalogue } from '../../helpers/fake-catalogue.ts';
import { PortCalls } from '../../helpers/port-calls.ts';

const expiresAt = new Date('2026-11-21T11:00:00Z');
const restsOn = ['a'.repeat(64)];
const subject = { iss: 'https://issuer.example', sub: 'r1' };
const grant = (datasetId: string, sub = 'r1') => ({ subject: { ...subject, sub }, datasetId, expiresAt, restsOn });

function world() {
  const calls = new PortCalls();
  const catalogue = new FakeCatalogue(calls);
  catalogue.addDataset('EGAD1', { released: true, aliases: ['doi:1'] });
  catalogue.addDataset('EGAD2', { released: false });
  catalogue.addDataset('EGAD3', { released: true });
  return { calls, catalogue };
}

test('without a choice: every granted dataset that is released, by stable id, in order', async () => {
  const { catalogue } = world();
  const grants = [grant('EGAD3'), grant('doi:1'), grant('EGAD2'), grant('EGAD9')];
  expect(await grantedAndReleased(catalogue, grants)).toEqual({
    granted: true,
    entitlements: [
      { datasetId: 'EGAD1', subject, expiresAt, restsOn },
      { datasetId: 'EGAD3', subject, expiresAt, restsOn },
    ],
  });
});

test.each([
  ['nothing granted', [], ['EGAD1'], { granted: false, entitlements: [] }],
  ['granted elsewhere', [grant('EGAD3')], ['EGAD1'], { granted: false, entitlements: [] }],
  ['granted, not released', [grant('EGAD2')], ['EGAD2'], { granted: true, entitlements: [] }],
  ['nothing to choose from', [grant('EGAD1')], [], { granted: false, entitlements: [] }],
])('%s', async (_, grants, among, decision) => {
  const { catalogue } = world();
  expect(await grantedAndReleased(catalogue, grants, among)).toEqual(decision);
});

test('a dataset granted by its own id costs no look-up of aliases', async () => {
  const { calls, catalogue } = world();
  const grants = [...Array.from({ length: 200 }, (_, index) => grant(`other-${index}`)), grant('EGAD1')];
  await grantedAndReleased(catalogue, grants, ['EGAD1']);
  expect(calls.names).toEqual(['catalogue.isReleased EGAD1']);
});

test('several identities: the first grant counts', async () => {
  const { catalogue } = world();
  const { entitlements } = await grantedAndReleased(catalogue, [grant('doi:1', 'r2'), grant('doi:1')]);
  expect(entitlements).toEqual([{ datasetId: 'EGAD1', subject: { ...subject, sub: 'r2' }, expiresAt, restsOn }]);
});

test('nothing is remembered: a dataset withdrawn between two calls is not released in the second', async () => {
  const { catalogue } = world();
  expect((await grantedAndReleased(catalogue, [grant('EGAD1')])).entitlements).toHaveLength(1);
  catalogue.setReleased('EGAD1', false);
  expect((await grantedAndReleased(catalogue, [grant('EGAD1')])).entitlements).toHaveLength(0);
});
