import manifest from '../../package.json' with { type: 'json' };

/** The version of this program, and the page that tells about it. */
export const { version, homepage } = manifest;
