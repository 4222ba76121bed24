import { fileURLToPath } from 'node:url';

/** The folder of the embedded data: beside the bundle. */
export const dataFolder = fileURLToPath(new URL('data', import.meta.url));
