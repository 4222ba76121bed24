import { apiKey } from './api-key.ts';
import { authorizationCode } from './authorization-code.ts';
import { basic } from './basic.ts';
import { bearer } from './bearer.ts';
import { clientCredentials } from './client-credentials.ts';

/** The types of auth for HTTP requests. A new one is a file beside this one, and a line here. */
export const authTypes = [bearer, apiKey, basic, clientCredentials] as const;

/** The types that log a person in, for MCP servers alone. */
export const loginTypes = [authorizationCode] as const;
