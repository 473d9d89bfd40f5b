import type { Check } from './check.ts';
import { alarmChecks } from './checks/alarms.ts';
import { databaseChecks } from './checks/database.ts';
import { archiveChecks, deliveryChecks } from './checks/delivery.ts';
import { firstChecks, httpChecks } from './checks/http.ts';
import { preparationChecks } from './checks/preparation.ts';
import { exportChecks, routeChecks } from './checks/routes.ts';
import { storageChecks } from './checks/storage.ts';

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
