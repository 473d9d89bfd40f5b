import type { Check } from '../check.ts';
import { abandonedAfterSeconds, CleanUp } from '../clean-up.ts';
import { saveUsers } from '../users.ts';

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

export const preparationChecks = [leftovers, users];
