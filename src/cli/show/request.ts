import type { Auth, HttpRequest } from '../../core/ports.ts';
import { credentialVariable } from '../../io/credentials/environment.ts';
import { shellWord } from './number.ts';

/** A request as it is shown: every secret is `***`. */
export function requestText(request: HttpRequest): string[] {
  const key = request.auth?.type === 'api_key' ? request.auth.query : undefined;
  const path = key === undefined ? request.path : `${request.path}${request.path.includes('?') ? '&' : '?'}${key}=***`;
  return [
    `${request.method} ${request.origin}${path}`,
    ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
    ...authLine(request.auth, '***'),
    ...(request.body === undefined ? [] : ['', request.body]),
  ];
}

function authLine(auth: Auth | undefined, secret: string): string[] {
  if (!auth) return [];
  if (auth.type === 'basic') return [`Authorization: Basic ${secret}`];
  if (auth.type === 'api_key') return auth.header === undefined ? [] : [`${auth.header}: ${secret}`];
  return [`Authorization: Bearer ${secret}`];
}

/** A request as a curl command line. Secrets are taken from the environment when it is run. */
export function curlText(request: HttpRequest): string {
  const { auth } = request;
  const secret = auth === undefined ? '' : `$${credentialVariable(auth.credential)}`;
  const words = [
    'curl',
    ...(request.method === 'GET' ? [] : ['-X', request.method]),
    ...Object.entries(request.headers).flatMap(([name, value]) => ['-H', shellWord(`${name}: ${value}`)]),
    ...curlAuth(auth, secret),
    ...(request.body === undefined ? [] : ['--data-raw', shellWord(request.body)]),
  ];
  const url = `${request.origin}${request.path}`;
  if (auth?.type !== 'api_key' || auth.query === undefined) return [...words, shellWord(url)].join(' ');
  return [...words, `"${url}${url.includes('?') ? '&' : '?'}${auth.query}=${secret}"`].join(' ');
}

function curlAuth(auth: Auth | undefined, secret: string): string[] {
  if (!auth) return [];
  if (auth.type === 'basic') return ['-u', `"${auth.username === undefined ? '' : `${auth.username}:`}${secret}"`];
  if (auth.type === 'oauth2_client_credentials') return ['-H', '"Authorization: Bearer $ACCESS_TOKEN"'];
  return authLine(auth, secret).flatMap((line) => ['-H', `"${line}"`]);
}
