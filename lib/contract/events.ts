import type { RequestState } from './delivery.ts';

/** `source` of every event on EventBridge. Policies and operators' rules name it. */
export const eventSource = 'data-out';

/** `detail-type` of the event that tells a state. */
export const eventDetailTypes = {
  accepted: 'Export Accepted',
  rejected: 'Export Rejected',
  complete: 'Delivery Settled',
  incomplete: 'Delivery Settled',
  withdrawn: 'Delivery Settled',
} as const satisfies Record<RequestState, string>;
