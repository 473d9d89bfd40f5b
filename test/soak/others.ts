import { buffer } from 'node:stream/consumers';
import { bytesOf } from '../helpers/made-files.ts';
import type { Service } from '../helpers/service.ts';
import type { SoakRequest } from './random-request.ts';

/** So many bytes of a content are looked for in replies. */
const markBytes = 32;

/** Data of other recipients, none of which may reach the caller. */
export class Others {
  /** Ids and names that a caller may guess or have heard of. */
  readonly names: string[] = [];
  readonly #marks: { readonly what: string; readonly bytes: Buffer }[] = [];

  /** Make recipients, each with a dataset and a staged container. */
  static async make(service: Service, subjects: readonly string[]): Promise<Others> {
    const others = new Others();
    for (const [index, subject] of subjects.entries()) {
      const datasetId = `EGAD0000009900${index}`;
      const [fileId, path, size] = [`EGAF0000009900${index}`, `${subject}/private-of-${subject}.vcf`, 50_000];
      await service.archive(datasetId, path, size, fileId);
      await service.setDataset(datasetId, 'released');
      const [[key = ''] = []] = await service.sql(
        `select archive_file_path from sda.files where stable_id = '${fileId}'`,
      );
      const body = await service.object('ArchiveBucketName', key ?? '');
      const container = `${fileId}-private-of-${subject}.vcf.c4gh`;
      const content = `container of ${subject}, staged and not for the caller`;
      await service.putStaged(subject, container, content);
      others.names.push(datasetId, fileId, path, container, service.prefix(subject));
      for (const name of [datasetId, fileId, path, `private-of-${subject}`, service.prefix(subject), key ?? '']) {
        others.#mark(`the name ${name}`, Buffer.from(name));
      }
      others.#mark(`the plaintext of ${fileId}`, await buffer(bytesOf({ path, size })));
      others.#mark(`the body of ${fileId}`, body);
      others.#mark(`the container of ${subject}`, Buffer.from(content));
    }
    return others;
  }

  /** What of the others' data is in the bytes of a reply, unless the request itself had it. */
  foundIn(reply: Buffer, { path, headers, body }: SoakRequest): readonly string[] {
    const found = this.#marks.filter(({ bytes }) => reply.includes(bytes));
    if (found.length === 0) return [];
    const sent = Buffer.concat([Buffer.from(`${path} ${JSON.stringify(headers)} `), body ?? Buffer.alloc(0)]);
    return found.filter(({ bytes }) => !sent.includes(bytes)).map(({ what }) => what);
  }

  #mark(what: string, content: Buffer): void {
    const isName = what.startsWith('the name');
    this.#marks.push({ what, bytes: isName ? content : content.subarray(0, markBytes) });
  }
}
