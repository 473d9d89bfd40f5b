import { identifier } from '../contract/messages.ts';
import { accessRefused } from '../direct/access-refused.ts';
import type { HttpRequest } from '../http/request.ts';

/**
 * The identifier in a variable segment of the route, decoded once. A segment that the front door has decoded already, or that
 * is no percent-encoding, stays as it is.
 *
 * An id that no catalogue can hold is refused before the database is asked, and so earlier than others. That tells the
 * caller nothing: the rule is public, and depends on the id alone.
 *
 * @throws ForbiddenError for an id that no catalogue can hold, the same as for an unknown one
 */
export function pathIdentifier(request: HttpRequest, name: string): string {
  const id = decodedSegment(request.pathParameters.get(name) ?? '');
  if (!identifier.safeParse(id).success) throw accessRefused();
  return id;
}

/** A segment without percent-encoding; as it is when its encoding is broken. */
export function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
