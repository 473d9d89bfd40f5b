/**
 * Folder of the cloud assembly with the source map of each function's bundle: `<id of its construct>.map`. Sources are
 * relative to a folder beside this one. Not deployed.
 */
export const sourceMapsDir = 'source-maps';
