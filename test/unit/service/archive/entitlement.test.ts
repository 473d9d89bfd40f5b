import { expect, test } from 'vitest';
import { grantedAndReleased } from '../../../../lib/service/archive/entitlement.ts';
import { FakeCatalogue } from '../../../helpers/fake-catalogue.ts';
import { PortCalls } from '../../../helpers/port-calls.ts';

const expiresAt = new Date('2026-11-21T11:00:00Z');
const dependsOn = ['a'.repeat(64)];
const subject = { iss: 'https://issuer.example', sub: 'r1' };
const grant = (datasetId: string, sub = 'r1') => ({ subject: { ...subject, sub }, datasetId, expiresAt, dependsOn });

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
    known: true,
    granted: true,
    entitlements: [
      { datasetId: 'EGAD1', grants: [grant('doi:1')] },
      { datasetId: 'EGAD3', grants: [grant('EGAD3')] },
    ],
  });
});

test.each([
  ['nothing granted', [], { datasetId: 'EGAD1' }, { known: true, granted: false }],
  ['granted elsewhere', [grant('EGAD3')], { datasetId: 'EGAD1' }, { known: true, granted: false }],
  ['granted, not released', [grant('EGAD2')], { datasetId: 'EGAD2' }, { known: true, granted: true }],
  ['granted, not there', [grant('EGAD9')], { datasetId: 'EGAD9' }, { known: false, granted: false }],
  ['a file that is missing', [grant('EGAD1')], { fileId: 'F' }, { known: false, granted: false }],
])('%s', async (_, grants, wanted, decision) => {
  const { calls, catalogue } = world();
  expect(await grantedAndReleased(catalogue, grants, wanted)).toEqual({ ...decision, entitlements: [] });
  expect(calls.names).toEqual(['catalogue.evaluateAccess']);
});

test('an id that no catalogue can hold is left out, and the grants keep their places', async () => {
  const { catalogue } = world();
  const asked: (readonly string[])[] = [];
  const evaluateAccess: typeof catalogue.evaluateAccess = (granted, wanted) => {
    asked.push(granted);
    return catalogue.evaluateAccess(granted, wanted);
  };
  const grants = [
    grant('EGAD\u0000'),
    grant(''),
    grant('x'.repeat(257)),
    grant('\ud800'),
    grant('doi:1'),
    grant('EGAD1'),
  ];
  const { entitlements } = await grantedAndReleased({ evaluateAccess }, grants, { datasetId: 'EGAD1' });
  expect(asked).toEqual([['doi:1', 'EGAD1']]);
  expect(entitlements).toEqual([{ datasetId: 'EGAD1', grants: [grant('doi:1'), grant('EGAD1')] }]);
});

test('several identities: the first grant counts', async () => {
  const { catalogue } = world();
  const { entitlements } = await grantedAndReleased(catalogue, [grant('doi:1', 'r2'), grant('doi:1')]);
  expect(entitlements[0]?.grants.map((one) => one.subject.sub)).toEqual(['r2', 'r1']);
});

test('no decision is kept: a dataset withdrawn between two calls is not released in the second', async () => {
  const { catalogue } = world();
  expect((await grantedAndReleased(catalogue, [grant('EGAD1')])).entitlements).toHaveLength(1);
  catalogue.setReleased('EGAD1', false);
  expect((await grantedAndReleased(catalogue, [grant('EGAD1')])).entitlements).toHaveLength(0);
});
