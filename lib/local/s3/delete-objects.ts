import { checkWrite } from './conditions.ts';
import { emptyReply, type Operation } from './operation.ts';
import { receiveDocument } from './received-body.ts';
import { notImplemented, s3Limits } from './refusals.ts';
import { elements, malformedXml, textOf, xmlReply } from './xml.ts';

/** It also succeeds for a missing object, unless If-Match asks for one (S3 user guide, "Conditional deletes"). */
export const deleteObject: Operation = ({ key }, { headers }, { bucket }) => {
  if (headers['if-none-match'] !== undefined) throw notImplemented('If-None-Match on DeleteObject');
  checkWrite(key, bucket.find(key), headers);
  bucket.delete(key);
  return emptyReply(204);
};

/** DeleteObjects: up to 1,000 keys. */
export const deleteObjects: Operation = async (_, request, { bucket }) => {
  const document = await receiveDocument(request);
  const keys = elements(document, 'Object').map((object) => textOf(object, 'Key'));
  if (keys.length === 0 || keys.length > s3Limits.page || keys.includes(undefined)) throw malformedXml();
  for (const name of ['VersionId', 'ETag']) {
    if (elements(document, name).length > 0) throw notImplemented(`the ${name} of DeleteObjects`);
  }
  const quiet = textOf(document, 'Quiet') === 'true';
  for (const key of keys) bucket.delete(key ?? '');
  return xmlReply('DeleteResult', quiet ? [] : keys.map((key) => ({ Deleted: { Key: key } })));
};
