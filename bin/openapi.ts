import { readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';

/** `node bin/openapi.ts <from.yaml> <to.json>`: the document of an API as the function beside it reads it. */
const [from, to] = process.argv.slice(2);
if (!from || !to) throw new Error('expected the YAML to read and the JSON to write');
writeFileSync(to, JSON.stringify(parse(readFileSync(from, 'utf8'))));
