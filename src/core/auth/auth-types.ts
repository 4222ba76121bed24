import * as z from 'zod';
import { apiKey } from './api-key.ts';
import type { NeededCredential, SigningType } from './auth-type.ts';
import { authorizationCode } from './authorization-code.ts';
import { awsSigv4 } from './aws-sigv4.ts';
import { basic, digest } from './basic.ts';
import { bearer } from './bearer.ts';
import { clientCredentials } from './client-credentials.ts';
import { hmac } from './hmac.ts';
import { jwt } from './jwt.ts';
import { jwtBearer } from './jwt-bearer.ts';
import { sessionType } from './session.ts';

/** To add a type of auth, add a file to this folder, and its type to this list. */
const plainTypes = [bearer, apiKey, basic, clientCredentials, jwtBearer, jwt, hmac, awsSigv4, digest] as const;

const plainOptions = plainTypes.map(({ options }) => options) as unknown as readonly [z.core.$ZodTypeDiscriminable];

function plainCredentials(auth: unknown, origin: string | undefined): readonly NeededCredential[] {
  const type = plainTypes.find((one) => one.type === (auth as { type: string }).type) as unknown as SigningType;
  return type.credentials(auth, origin);
}

/** The auth types for HTTP requests. */
export const authTypes = [...plainTypes, sessionType(z.discriminatedUnion('type', plainOptions), plainCredentials)] as const;

/** The auth types with which a person logs in. Only connections can use them. */
export const loginTypes = [authorizationCode] as const;
