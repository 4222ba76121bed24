import type { ActionRequest } from './action.ts';
import type { Auth } from './auth/auth.ts';
import { neededCredentials } from './auth/auth.ts';

/** The parts by which requests are compared. Authentication, and a generated idempotency key, are not among them. */
export function requestKey(request: ActionRequest, type: string, connection = ''): string {
  const asker = `${type}\n${connection}\n`;
  if ('kind' in request) {
    if (request.kind === 'lookup') throw new Error('a lookup is answered from local data');
    const { tool, auth } = request;
    return `${asker}${tool}\n${auth ? namesIn(auth) : ''}\n${JSON.stringify(request.arguments)}`;
  }
  const { method, origin, path, headers, body, form, auth, secretBody } = request;
  let key = `${asker}${method} ${origin}${path}`;
  const names = Object.keys(headers);
  if (names.length > 1) names.sort();
  for (const name of names) key += `\n${name.toLowerCase()}: ${headers[name]}`;
  for (const one of auth ?? []) key += `\nauth ${namesIn(one)}`;
  if (secretBody) key += `\nsecrets ${secretBody.credentials.join(' ')}`;
  if (form) key += `\nform ${JSON.stringify(form)}`;
  return body === undefined ? key : `${key}\n\n${body}`;
}

const namesByAuth = new WeakMap<Auth, string>();

/** The names of its credentials. All requests of a node share the object. */
function namesIn(auth: Auth): string {
  let names = namesByAuth.get(auth);
  if (names === undefined) {
    names = neededCredentials(auth, undefined)
      .map(({ name }) => name)
      .join(' ');
    namesByAuth.set(auth, names);
  }
  return names;
}

/** The request for messages, such as `GET https://api.example.com/users/7`. */
export function requestText(request: ActionRequest): string {
  if ('origin' in request && 'method' in request) return `${request.method} ${request.origin}${request.path}`;
  return 'kind' in request && request.kind === 'tool' ? `the tool "${request.tool}" of ${request.connection.name}` : 'a lookup';
}
