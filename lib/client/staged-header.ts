import { headerLength, headerLimits } from '../crypt4gh/index.ts';
import { Locations } from './download/locations.ts';
import { StagedFile } from './download/staged-file.ts';
import type { ProxyApi } from './proxy.ts';

/** First guess at what holds a header; that of one recipient has 124 bytes. */
const firstBytes = 64 * 1024;

/**
 * The beginning of a staged container, as far as its header needs: to see who can read it before anything is downloaded.
 *
 * @throws ClientError; MalformedHeaderError when it is no container
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
    const reply = await remote.get(end === size ? undefined : { start: 0, end }, undefined, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of reply.bytes) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    if (headerLength(bytes) !== undefined || end === size || end > headerLimits.bytes) return bytes;
  }
}
