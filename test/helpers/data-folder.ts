import { fileURLToPath } from 'node:url';

/** The folder of the embedded data, as the build has made them. */
export const dataFolder = fileURLToPath(new URL('../../dist/data', import.meta.url));
