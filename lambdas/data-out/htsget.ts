import { environment } from '../../lib/contract/environment.ts';
import { directChallenge, ticketPartsRoute } from '../../lib/contract/http.ts';
import { RdsRegionCatalogue } from '../../lib/service/catalogue/region-catalogue.ts';
import { htsgetErrorReply, htsgetServiceInfo } from '../../lib/service/direct/htsget/model.ts';
import { PlainFiles } from '../../lib/service/direct/htsget/plain-files.ts';
import { htsgetKeyHeaders } from '../../lib/service/direct/htsget/request.ts';
import { type ServedPart, servePart } from '../../lib/service/direct/htsget/serve-part.ts';
import { type IssuedTicket, serveTicket } from '../../lib/service/direct/htsget/serve-ticket.ts';
import { preflightHeaders, shared } from '../../lib/service/http/allowed-origins.ts';
import { commonHeaders, jsonReply } from '../../lib/service/http/reply.ts';
import { s3Client } from '../../lib/service/stores/clients.ts';
import { serviceInfo } from '../shared/direct.ts';
import { streamedHandler } from '../shared/http.ts';
import { logger } from '../shared/observability.ts';
import { keepMemorySmall } from '../shared/runtime.ts';
import { deployedArchive, deployedTicketKeys, deployedVisaRules, promptDatabase } from '../shared/wiring.ts';

keepMemorySmall();

const { archive, archiveKeys } = deployedArchive(s3Client());
const endpoint = {
  rules: deployedVisaRules(),
  catalogue: new RdsRegionCatalogue(promptDatabase()),
  archive,
  archiveKeys,
  files: new PlainFiles({ archive, archiveKeys }),
  ticketKeys: deployedTicketKeys(),
  now: () => new Date(),
  issued: (ticket: IssuedTicket) => logger.info('ticket issued', { ...ticket }),
  served: (part: ServedPart) => logger.info('part served', { ...part }),
};
const info = serviceInfo();
const origins = new Set((process.env[environment.htsgetOrigins] ?? '').split(',').filter((origin) => origin !== ''));
const allowed = {
  methods: 'GET, HEAD, POST',
  headers: ['Authorization', 'Content-Type', 'Range', 'If-Range', ...htsgetKeyHeaders],
};

/**
 * htsget 1.3: tickets, behind the authorizer, and the parts that they name, behind the same one, which there takes a ticket's
 * token, too. Streamed, because a part may have 64 MiB.
 */
export const handler = streamedHandler(
  directChallenge,
  async (request, { resource, baseUrl }) => {
    const { requestId, method } = request;
    if (method === 'OPTIONS') {
      const headers = { ...commonHeaders(requestId), ...preflightHeaders(request, origins, allowed) };
      return { status: 204, headers, body: '' };
    }
    if (resource === ticketPartsRoute) return servePart(request, endpoint);
    const datatype = resource.startsWith('/htsget/reads/') ? 'reads' : 'variants';
    if (resource.endsWith('/service-info')) return jsonReply(requestId, htsgetServiceInfo(datatype, info));
    return serveTicket(request, datatype, baseUrl(), endpoint);
  },
  {
    origins,
    finish: (reply, request) => shared(reply.status < 400 ? reply : htsgetErrorReply(reply), request, origins),
  },
);
