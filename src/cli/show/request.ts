import type { ActionRequest } from '../../core/node.ts';
import type { Auth, HttpRequest } from '../../core/ports.ts';
import { isRemote, type ToolCall } from '../../core/tools/tools.ts';
import { jsonOf } from '../../core/value/value.ts';
import { withQuery } from '../../io/auth/sign.ts';
import { credentialVariable } from '../../io/credentials/environment.ts';
import { shellWord } from './text.ts';

/** A request as it is shown: every secret is `***`. */
export function requestText(request: ActionRequest): string[] {
  return 'kind' in request ? callText(request) : httpText(request);
}

function callText({ connection: { name, server }, tool, arguments: values }: ToolCall): string[] {
  return [`${tool} of ${name} (${isRemote(server) ? server.url : server.command.join(' ')})`, '', jsonOf(values)];
}

function httpText(request: HttpRequest): string[] {
  const key = request.auth?.type === 'api_key' ? request.auth.query : undefined;
  const path = withQuery(request.path, key === undefined ? undefined : `${encodeURIComponent(key)}=***`);
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
  const { method, headers, body, auth } = request;
  const url = request.origin + request.path;
  return [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    // curl would take brackets for a range of URLs.
    ...(/[[\]{}]/.test(url) ? ['--globoff'] : []),
    // Its way to write a header without a value.
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', shellWord(value === '' ? `${name};` : `${name}: ${value}`)]),
    ...(auth ? curlAuth(auth, body !== undefined) : []),
    ...(body === undefined ? [] : ['--data-raw', shellWord(body)]),
    shellWord(url),
  ].join(' ');
}

function curlAuth(auth: Auth, hasBody: boolean): string[] {
  const secret = credentialVariable(auth.credential);
  switch (auth.type) {
    case 'bearer':
      return ['-H', withVariable('Authorization: Bearer ', secret)];
    case 'basic':
      return ['-u', withVariable(auth.username === undefined ? '' : `${auth.username}:`, secret)];
    case 'oauth2_client_credentials':
      return ['-H', withVariable('Authorization: Bearer ', 'ACCESS_TOKEN')];
    case 'api_key': {
      if (auth.query === undefined) return ['-H', withVariable(`${auth.header}: `, secret)];
      const parameter = withVariable(`${encodeURIComponent(auth.query)}=`, secret);
      return hasBody ? ['--url-query', parameter] : ['-G', '--data-urlencode', parameter];
    }
  }
}

/** A word that ends with a variable's value. */
function withVariable(text: string, variable: string): string {
  return /[\\"$`!]/.test(text) ? `${shellWord(text)}"$${variable}"` : `"${text}$${variable}"`;
}
