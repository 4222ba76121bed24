import { apiKey } from './api-key.ts';
import { authorizationCode } from './authorization-code.ts';
import { basic } from './basic.ts';
import { bearer } from './bearer.ts';
import { clientCredentials } from './client-credentials.ts';

/** The types of auth for HTTP requests. To add one, add a file to this folder and a line here. */
export const authTypes = [bearer, apiKey, basic, clientCredentials] as const;

/** The types that log a person in, only for connections. */
export const loginTypes = [authorizationCode] as const;
