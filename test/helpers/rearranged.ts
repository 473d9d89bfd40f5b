import { encryptHeader, openHeader, planRearrangement, type VisibleRange } from '../../lib/crypt4gh/index.ts';

/** A container of only the segments that ranges need, with an edit list that leaves exactly the ranges (Crypt4GH § 4.2). */
export function rearranged(
  container: Uint8Array,
  options: {
    readonly privateKeys: readonly Uint8Array[];
    readonly recipients: readonly Uint8Array[];
    readonly ranges: readonly VisibleRange[];
    /** Whether the plan is made without the size of the body. */
    readonly isOfUnknownSize?: boolean;
  },
): Buffer {
  const { dataKeys, editList: old, length } = openHeader(container, options.privateKeys);
  const body = container.subarray(length);
  const bodySize = options.isOfUnknownSize ? undefined : body.length;
  const { bodyRanges, editList } = planRearrangement({ ranges: options.ranges, editList: old, bodySize });
  const header = encryptHeader({ dataKeys, editList, recipients: options.recipients });
  return Buffer.concat([header, ...bodyRanges.map(({ start, end }) => body.subarray(start, end))]);
}
