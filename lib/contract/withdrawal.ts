/** What happens to staged containers of a deprecated dataset. `report` counts them, `purge` deletes them. */
export const withdrawalPolicies = ['off', 'report', 'purge'] as const;
export type WithdrawalPolicy = (typeof withdrawalPolicies)[number];
