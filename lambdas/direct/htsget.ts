import { directChallenge, ticketPartsRoute } from '../../lib/contract/http.ts';
import { regionCatalogue } from '../../lib/service/catalogue/region-catalogue.ts';
import { htsgetErrorReply } from '../../lib/service/direct/htsget/error-reply.ts';
import { PlainFiles } from '../../lib/service/direct/htsget/plain-files.ts';
import { type ServedPart, servePart } from '../../lib/service/direct/htsget/serve-part.ts';
import { type IssuedTicket, serveTicket } from '../../lib/service/direct/htsget/serve-ticket.ts';
import { withAllowedOrigin } from '../../lib/service/http/origins.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { deployedTicketKeys, htsgetOrigins } from '../shared/direct-wiring.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall } from '../shared/runtime.ts';
import { deployedArchive, deployedVisaRules, promptDatabase } from '../shared/wiring.ts';

keepMemorySmall();

const { archive, archiveKeys } = deployedArchive(s3Client());
const endpoint = {
  rules: deployedVisaRules(),
  catalogue: regionCatalogue(promptDatabase()),
  archive,
  archiveKeys,
  files: new PlainFiles({ archive, archiveKeys }),
  ticketKeys: deployedTicketKeys(),
  now: () => new Date(),
  issued: (ticket: IssuedTicket) => logger.info('ticket issued', { ...ticket }),
  served: (part: ServedPart) => logger.info('part served', { ...part }),
};
const origins = htsgetOrigins();

/**
 * htsget 1.3: tickets, and the parts that they name. The authorizer before it also takes a ticket's token for parts. Streamed,
 * because a part can have 64 MiB.
 */
export const handler = streamedHandler(
  directChallenge,
  async (request, { resource, baseUrl }) => {
    if (resource === ticketPartsRoute) return servePart(request, endpoint);
    const [, datatype] = /^\/htsget\/(reads|variants)\//.exec(resource) ?? [];
    return serveTicket(request, datatype as 'reads' | 'variants' | undefined, baseUrl(), endpoint);
  },
  {
    origins,
    finish: (reply, request) =>
      withAllowedOrigin(reply.status < 400 ? reply : htsgetErrorReply(reply), request, origins),
  },
);
