import { archive, deliveryChecks, presigned } from './checks/delivery.ts';
import { exportChecks, visa } from './checks/export.ts';
import { leftovers } from './clean-up.ts';
import { conformanceChecks } from './conformance/operations.ts';
import { users } from './users.ts';

/** The main job until the files are staged, and afterwards. */
export const mainPath = { before: [archive, ...exportChecks], after: deliveryChecks };

/** The suite, in its order: the same for the local engine and for deployed stacks. */
export const suite = [visa, leftovers, users, ...mainPath.before, ...mainPath.after, ...conformanceChecks, presigned];
