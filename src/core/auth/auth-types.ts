import { apiKey } from './api-key.ts';
import { authorizationCode } from './authorization-code.ts';
import { awsSigv4 } from './aws-sigv4.ts';
import { basic } from './basic.ts';
import { bearer } from './bearer.ts';
import { clientCredentials } from './client-credentials.ts';
import { digest } from './digest.ts';
import { hmac } from './hmac.ts';
import { jwt } from './jwt.ts';
import { jwtBearer } from './jwt-bearer.ts';

/** The auth types for HTTP requests. To add one, add a file to this folder and a line here. */
export const authTypes = [bearer, apiKey, basic, clientCredentials, jwtBearer, jwt, hmac, awsSigv4, digest] as const;

/** The auth types with which a person logs in. Only connections can use them. */
export const loginTypes = [authorizationCode] as const;
