import { fanOuts, fileRecords, unfinishedRequests } from '../../lib/service/ledger/ledger.ts';

/** The ledger as all functions together have it, up to the receipt. */
export const wholeLedger = (...[db, mostInFlight, quota]: Parameters<typeof fanOuts>) => ({
  ...fanOuts(db, mostInFlight, quota),
  ...fileRecords(db, mostInFlight),
  ...unfinishedRequests(db),
});

export type WholeLedger = ReturnType<typeof wholeLedger>;
