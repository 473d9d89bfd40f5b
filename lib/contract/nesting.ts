import { limits } from './limits.ts';

const [quote, backslash, openList, closeList, openObject, closeObject] = new TextEncoder().encode('"\\[]{}');

/**
 * Whether JSON has objects and lists inside one another deeper than `limits.jsonDepth`. Parsing such a text costs many times
 * what its size suggests, so this reads it once and makes nothing. Of a text that is not JSON it says nothing useful.
 *
 * @param json in UTF-8
 */
export function isNestedTooDeeply(json: Uint8Array): boolean {
  let depth = 0;
  let isText = false;
  for (let position = 0; position < json.length; position += 1) {
    const byte = json[position];
    if (isText) {
      if (byte === backslash) position += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === openList || byte === openObject) {
      depth += 1;
      if (depth > limits.jsonDepth) return true;
    } else if (byte === closeList || byte === closeObject) depth -= 1;
  }
  return false;
}
