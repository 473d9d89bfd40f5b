import { s3Limits } from './limits.ts';
import type { Operation } from './operation.ts';
import { receiveDocument } from './received-body.ts';
import { notImplemented } from './refusals.ts';
import { emptyReply } from './s3-reply.ts';
import { element, elements, malformedXml, textOf, xmlReply } from './xml.ts';

/** It succeeds for a missing object, too. */
export const deleteObject: Operation = ({ key }, { headers }, { bucket }) => {
  if (headers['if-match'] !== undefined) throw notImplemented('If-Match on DeleteObject');
  bucket.delete(key);
  return emptyReply(204);
};

/** DeleteObjects: up to 1,000 keys. */
export const deleteObjects: Operation = async (_, request, { bucket }) => {
  const document = await receiveDocument(request);
  const keys = elements(document, 'Object').map((object) => textOf(object, 'Key'));
  if (keys.length === 0 || keys.length > s3Limits.page || keys.includes(undefined)) throw malformedXml();
  if (elements(document, 'VersionId').length > 0) throw notImplemented('the VersionId of DeleteObjects');
  const quiet = textOf(document, 'Quiet') === 'true';
  const deleted = keys.map((key = '') => {
    bucket.delete(key);
    return quiet ? '' : `<Deleted>${element('Key', key)}</Deleted>`;
  });
  return xmlReply('DeleteResult', deleted.join(''));
};
