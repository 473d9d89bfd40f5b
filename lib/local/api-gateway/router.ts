import { percentDecoded } from '../../common/percent.ts';
import type { Method } from './model.ts';

export interface Route {
  readonly method: Method;
  /** Decoded once. */
  readonly pathParameters: Readonly<Record<string, string>>;
}

/**
 * The method that serves a path. Literal segments win over parameters, and parameters over greedy ones.
 *
 * @param path raw, without the stage, beginning with a slash.
 * @returns `undefined` when there is none, which API Gateway calls a missing authentication token.
 */
export function findRoute(methods: readonly Method[], httpMethod: string, path: string): Route | undefined {
  const segments = path.split('/').slice(1);
  // One slash at the end does not matter.
  if (segments.at(-1) === '') segments.pop();
  const matches = methods
    .filter((method) => method.httpMethod === httpMethod)
    .flatMap((method) => {
      const parameters = match(method.segments, segments);
      return parameters ? [{ method, pathParameters: parameters }] : [];
    })
    .sort((a, b) => Number(rank(a.method)) - Number(rank(b.method)));
  return matches[0];
}

function match(pattern: readonly string[], segments: readonly string[]): Readonly<Record<string, string>> | undefined {
  const parameters: Record<string, string> = {};
  for (const [at, part] of pattern.entries()) {
    const segment = segments[at];
    if (segment === undefined) return undefined;
    const [, name, greedy] = /^\{([^+}]+)(\+?)\}$/.exec(part) ?? [];
    if (name === undefined) {
      if (part !== percentDecoded(segment)) return undefined;
    } else if (greedy) {
      return { ...parameters, [name]: segments.slice(at).map(percentDecoded).join('/') };
    } else {
      if (segment === '') return undefined;
      parameters[name] = percentDecoded(segment);
    }
  }
  return pattern.length === segments.length ? parameters : undefined;
}

/** Per segment: 0 literal, 1 parameter, 2 greedy. */
function rank({ segments }: Method): string {
  return segments.map((part) => (part.endsWith('+}') ? '2' : part.startsWith('{') ? '1' : '0')).join('');
}
