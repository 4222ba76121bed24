import manifest from '../../package.json' with { type: 'json' };

/** The version of automate, and the URL of its homepage. */
export const { version, homepage } = manifest;
