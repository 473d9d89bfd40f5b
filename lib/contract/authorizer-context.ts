/**
 * What authorizers hand on, in the `context` of their answer: to the function as `requestContext.authorizer`, and to the
 * gateway response of a refusal as `$context.authorizer`. Every value is text.
 */
export const authorizerContext = {
  /** Why the credentials were refused: a fixed sentence of this service, in characters that JSON does not escape. */
  detail: 'detail',
  /** `true` when the caller of an export has the role ADMIN. */
  isAdministrator: 'isAdministrator',
  /** `true` when the credentials of list and stream were right: visa and, as the policy says, archive credentials. */
  isAdmitted: 'isAdmitted',
  /** The central archive's user whose password was right. Absent: no credentials were sent, and none are required. */
  archiveUser: 'archiveUser',
} as const;

export type AuthorizerContext = Readonly<Partial<Record<keyof typeof authorizerContext, string>>>;
