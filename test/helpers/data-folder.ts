import { fileURLToPath } from 'node:url';

/** The folder with the embedded data that the build has created. */
export const dataFolder = fileURLToPath(new URL('../../dist/data', import.meta.url));
