import type { Check } from './check.ts';
import { alarmChecks } from './checks/alarms.ts';
import { databaseChecks } from './checks/database.ts';
import { archiveChecks, deliveryChecks } from './checks/delivery.ts';
import { exportChecks } from './checks/export.ts';
import { accessChecks, presigned } from './checks/http.ts';
import { storageChecks } from './checks/storage.ts';
import { removeRuns } from './clean-up.ts';
import { conformanceChecks } from './conformance/operations.ts';
import { saveUsers } from './users.ts';

const leftovers: Check = {
  id: 'leftovers',
  title: 'what an earlier run left is removed',
  remedy: 'Check the rights of your credentials, then run npm run smoke with --clean-up.',
  async run({ deployment }) {
    const found = await removeRuns(deployment);
    return found.length === 0 ? 'nothing was left' : found.join(', ');
  },
};

const users: Check = {
  id: 'users',
  title: 'users of the API are made for this run',
  remedy: "Look at the rights of your credentials on the database and on the administrators' secret.",
  async run({ deployment, target, access, ids }) {
    if (deployment.connection) return 'those of the connection file';
    await saveUsers(target, access);
    return ids.username;
  },
};

/** The suite, in its order: the same for the local engine and for deployed stacks. */
export const suite: readonly Check[] = [
  ...accessChecks,
  leftovers,
  users,
  ...archiveChecks,
  ...exportChecks,
  ...deliveryChecks,
  ...conformanceChecks,
  presigned,
  ...storageChecks,
  ...databaseChecks,
  ...alarmChecks,
];

/** Comes last, whatever happened before. */
export const removal: Check = {
  id: 'clean-up',
  title: 'everything that the run made is removed',
  remedy: 'Give the same command with --clean-up.',
  async run({ deployment, requestId }) {
    await removeRuns(deployment, requestId);
    return 'only the audit trail shows it';
  },
};
