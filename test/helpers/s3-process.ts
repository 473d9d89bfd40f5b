/** The embedded S3 on a folder, in a process that a test can kill. */
import { S3Server } from './s3-server.ts';

const [folder = '', ...buckets] = process.argv.slice(2);
const server = await S3Server.startIn(folder, ...buckets);
process.send?.(server.url);
