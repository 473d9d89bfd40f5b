import { headerLength, headerLimits } from '../../../crypt4gh/index.ts';
import type { ProxyApi } from '../../proxy.ts';
import { Locations } from './locations.ts';
import { StagedFile } from './staged-file.ts';

/** First guess at what holds a header; that of one recipient has 124 bytes. */
const firstBytes = 64 * 1024;

/**
 * The beginning of a staged container, with its whole header. It shows who can read the container before the download.
 *
 * @throws ClientError; MalformedHeaderError if it is not a container
 */
export async function readStagedHeader(proxy: ProxyApi, name: string, signal: AbortSignal): Promise<Uint8Array> {
  const { transport } = proxy.connection;
  const { size } = await proxy.location(name, { signal });
  const remote = new StagedFile({
    name,
    size,
    locations: new Locations(proxy),
    transport,
    renewed: () => undefined,
  });
  for (let wanted = firstBytes; ; wanted *= 4) {
    const end = Math.min(wanted, size);
    const reply = await remote.get({ range: end === size ? undefined : { start: 0, end }, signal });
    const chunks: Uint8Array[] = [];
    for await (const chunk of reply.bytes) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    if (headerLength(bytes) !== undefined || end === size || end > headerLimits.bytes) return bytes;
  }
}
