/** What the suite uses of `@gmod/bam`, which is installed for it alone. */
export class HtsgetFile {
  constructor(options: { readonly baseUrl: string; readonly trackId: string });
  getHeader(options: RequestInit): Promise<unknown>;
  getRecordsForRange(
    chr: string,
    min: number,
    max: number,
    options: RequestInit,
  ): Promise<readonly { readonly name: string }[]>;
}
