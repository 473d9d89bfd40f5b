import type { Check } from './check.ts';
import { alarmChecks } from './checks/alarms.ts';
import { databaseChecks } from './checks/database.ts';
import { archiveChecks, deliveryChecks } from './checks/delivery.ts';
import { firstChecks, httpChecks } from './checks/http.ts';
import { exportChecks, routeChecks } from './checks/routes.ts';
import { storageChecks } from './checks/storage.ts';
import { abandonedAfterSeconds, CleanUp } from './clean-up.ts';
import { saveUsers } from './users.ts';

const leftovers: Check = {
  id: 'leftovers',
  title: 'what older runs left is removed',
  remedy: 'Look at the rights of your credentials. Then give npm run smoke with --clean-up.',
  async run({ deployment }) {
    const found = await new CleanUp(deployment).leftovers(abandonedAfterSeconds, new Date());
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

const preparationChecks = [leftovers, users];

/** The conformance suite, in its order: the same for the local engine and for deployed stacks. */
export const suite: readonly Check[] = [
  ...firstChecks,
  ...preparationChecks,
  ...archiveChecks,
  ...exportChecks,
  ...deliveryChecks,
  ...routeChecks,
  ...httpChecks,
  ...storageChecks,
  ...databaseChecks,
  ...alarmChecks,
];
