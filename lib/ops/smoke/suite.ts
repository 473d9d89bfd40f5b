import type { Check } from './check.ts';
import { alarmChecks } from './checks/alarms.ts';
import { databaseChecks } from './checks/database.ts';
import { archiveChecks, deliveryChecks } from './checks/delivery.ts';
import { firstChecks, httpChecks } from './checks/http.ts';
import { exportChecks, routeChecks } from './checks/routes.ts';
import { storageChecks } from './checks/storage.ts';
import { removeLeftovers, removeRun } from './clean-up.ts';
import { saveUsers } from './users.ts';

/** A run takes minutes. What is older than this, in seconds, was left by one that was killed. */
const abandonedAfterSeconds = 2 * 3600;

const leftovers: Check = {
  id: 'leftovers',
  title: 'what older runs left is removed',
  remedy: 'Check the rights of your credentials, then run npm run smoke with --clean-up.',
  async run({ deployment }) {
    const found = await removeLeftovers(deployment, abandonedAfterSeconds, new Date());
    return found.length === 0 ? 'nothing was left' : found.join(', ');
  },
};

const users: Check = {
  id: 'users',
  title: 'an administrator and a user of the central archive are made for this run',
  remedy: "Look at the rights of your credentials on the database and on the administrators' secret.",
  async run({ deployment, target, access, ids }) {
    if (deployment.connection) return 'those of the connection file';
    await saveUsers(target, access);
    return ids.username;
  },
};

/** The conformance suite, in its order: the same for the local engine and for deployed stacks. */
export const suite: readonly Check[] = [
  ...firstChecks,
  leftovers,
  users,
  ...archiveChecks,
  ...exportChecks,
  ...deliveryChecks,
  ...routeChecks,
  ...httpChecks,
  ...storageChecks,
  ...databaseChecks,
  ...alarmChecks,
];

/** Comes last, whatever happened before. */
export const removal: Check = {
  id: 'clean-up',
  title: 'everything that the run made is removed',
  remedy: 'Give the same command with --clean-up, when no other run is under way.',
  async run({ ids, deployment, requestId }) {
    await removeRun(deployment, ids, { madeUsers: deployment.connection === undefined, requestId });
    return 'only the audit trail shows it';
  },
};
