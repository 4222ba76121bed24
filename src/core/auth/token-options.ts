import * as z from 'zod';
import { targetOf } from '../template/target.ts';
import { shellVariableAdvice } from '../template/template.ts';
import { describedAs, dictionary } from '../value/dictionary.ts';
import { orUndefined } from '../value/value.ts';
import type { AuthProblem } from './auth-type.ts';

/** The parameters of token requests that the type of auth itself sets. */
const ownParameters = new Set([
  ...['grant_type', 'client_id', 'client_secret', 'scope', 'refresh_token', 'response_type', 'code', 'redirect_uri', 'state'],
  ...['code_verifier', 'code_challenge', 'code_challenge_method'],
]);

const parameterName = z.string().min(1, 'expected the name of a parameter, found an empty text');

const parameterValue = z
  .union([z.string(), z.number(), z.boolean()], { error: 'expected a text, a number, true or false' })
  .transform(String);

const written = dictionary(parameterName, parameterValue);

/** The options of every type that asks a token server. */
export const tokenOptions = {
  params: describedAs(
    written.superRefine((given, context) => {
      for (const name of Object.keys(given)) {
        const message = name === 'client_secret' ? 'the secret is the credential that auth names' : 'auth itself sets it';
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
    .describe('further parameters of the token request, such as audience'),
  client_auth: z
    .enum(['basic', 'body'])
    .optional()
    .describe('the place of client id and secret in the token request: basic (the Authorization header, the default) or body'),
};

/** Further parameters of the token request, and the place of the client's secret in it. */
export interface TokenSettings {
  /** Undefined for none. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  /** Undefined for `basic`. */
  readonly clientAuth?: 'basic' | 'body' | undefined;
}

/** The settings of checked options. Absent ones stay absent. */
export function tokenSettings({
  params,
  client_auth: clientAuth,
}: {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly client_auth?: 'basic' | 'body' | undefined;
}): TokenSettings {
  return { ...(params && { params }), ...(clientAuth && { clientAuth }) };
}

/** True for a URL option of a token server. */
export function isServerUrl(option: string): boolean {
  return option === 'token_url' || option === 'authorize_url';
}

/** The problem of a URL option of a token server; undefined for a URL that can be asked. */
export function urlProblem(option: string, url: string, allowHttp: boolean): AuthProblem | undefined {
  if (orUndefined(() => targetOf(url, { allowHttp }))) return undefined;
  return { option, message: `expected an absolute https URL as the ${option}${shellVariableAdvice(url)}` };
}
