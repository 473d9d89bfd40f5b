import { fileURLToPath } from 'node:url';

const compiled = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));

/**
 * Variables of processes that run the engine's code: their compiled code is kept beside the installed packages. This halves the
 * processor time of a start, and takes a quarter off the memory.
 */
export const compileCache = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compiled };
