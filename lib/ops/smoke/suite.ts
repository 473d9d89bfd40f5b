import type { Check } from './check.ts';
import { alarmChecks } from './checks/alarms.ts';
import { archive, deliveryChecks, presigned } from './checks/delivery.ts';
import { exportChecks, visa } from './checks/export.ts';
import { leftovers } from './clean-up.ts';
import { conformanceChecks } from './conformance/operations.ts';
import { users } from './users.ts';

/** The suite, in its order: the same for the local engine and for deployed stacks. */
export const suite: readonly Check[] = [
  ...[visa, leftovers, users, archive],
  ...exportChecks,
  ...deliveryChecks,
  ...conformanceChecks,
  presigned,
  ...alarmChecks,
];
