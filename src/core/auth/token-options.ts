import * as z from 'zod';
import { shellVariableAdvice } from '../template/template.ts';
import { targetOf } from '../template/url.ts';
import { describedAs, dictionary } from '../value/dictionary.ts';
import { orUndefined } from '../value/value.ts';
import type { AuthProblem } from './auth-type.ts';

/** The parameters of token requests that the auth type sets itself, so that `params` must not set them. */
const ownParameters = new Set([
  ...['grant_type', 'client_id', 'client_secret', 'scope', 'refresh_token', 'response_type', 'code', 'redirect_uri', 'state'],
  ...['assertion', 'code_verifier', 'code_challenge', 'code_challenge_method'],
]);

const parameterName = z.string().min(1, 'expected the name of a parameter, found an empty string');

const parameterValue = z
  .union([z.string(), z.number(), z.boolean()], { error: 'expected a string, a number, true or false' })
  .transform(String);

const written = dictionary(parameterName, parameterValue);

export const tokenOptions = {
  params: describedAs(
    written.superRefine((given, context) => {
      for (const name of Object.keys(given)) {
        const message = name === 'client_secret' ? 'the secret comes from the credential in auth' : 'auth itself sets it';
        if (ownParameters.has(name)) {
          context.addIssue({
            code: 'custom',
            message: `"${name}" cannot be one of params: ${message}`,
            path: [name],
            params: { isName: true },
          });
        }
      }
    }),
    written,
  )
    .optional()
    .describe('more parameters for the token request, such as audience'),
  client_auth: z
    .enum(['basic', 'body'])
    .optional()
    .describe('how the token request sends client id and secret: basic uses the Authorization header, body uses the body (default: basic)'),
};

export interface TokenSettings {
  readonly params?: Readonly<Record<string, string>>;
  /** The part of the token request that contains the client secret; undefined for the default, `basic`. */
  readonly clientAuth?: 'basic' | 'body';
}

/** Options that are not set are left out. */
export function tokenSettings({
  params,
  client_auth: clientAuth,
}: {
  readonly params?: Readonly<Record<string, string>>;
  readonly client_auth?: 'basic' | 'body';
}): TokenSettings {
  return { params, clientAuth };
}

export function isServerUrl(option: string): boolean {
  return option === 'token_url' || option === 'authorize_url';
}

export function urlProblem(option: string, url: string, allowHttp: boolean): AuthProblem | undefined {
  if (orUndefined(() => targetOf(url, { allowHttp }))) return undefined;
  return { option, message: `expected an absolute https URL as the ${option}${shellVariableAdvice(url)}` };
}
