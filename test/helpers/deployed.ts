import { type Deployment, deploy } from '../../lib/local/template/deployment.ts';
import type { ResourceDeclaration } from '../../lib/local/template/template.ts';

/** A stack `S` of these resources, as the local engine resolves it. */
export function deployed(Resources: Readonly<Record<string, ResourceDeclaration>>): Deployment {
  const stack = { name: 'S', region: undefined, assets: new Map<string, string>(), template: { Resources } };
  return deploy([stack], { queueUrl: (name) => `http://local/0/${name}`, apiUrl: (id) => `http://api/${id}` });
}

/** The ARN of a resource of {@link deployed}. */
export function arnIn(deployment: Deployment, type: string, id: string): string {
  const found = deployment.resources(type).find(({ logicalId }) => logicalId === id);
  if (!found) throw new Error(`no ${type} ${id}`);
  return found.attribute('Arn');
}
