import { maxSigners } from '../../core/auth/auth.ts';
import { freeName } from '../../core/text/suggest.ts';
import { listOf, partOf, textIn } from '../json-parts.ts';
import { type CredentialToStore, hostWord, secretPlace, type TranslatedAuth } from '../starter-secrets.ts';
import type { WrittenAuth } from '../written-node.ts';
import type { OpenApi, OpenApiObject } from './document.ts';

/** A security scheme of an OpenAPI file, converted to `auth`, but without the name of the credential. */
interface Scheme {
  readonly what: string;
  readonly auth: WrittenAuth;
  readonly note?: string;
}

/** Returns the `auth` for an operation. Uses the first of the operation's security requirements that flows support. */
export function securityOf(document: OpenApi, operation: OpenApiObject, url: string): TranslatedAuth {
  const schemes = partOf(document.at(document.root.components).securitySchemes);
  const requirements = listOf(operation.security ?? document.root.security)
    .map((requirement) => Object.entries(partOf(requirement)))
    .filter((requirement) => requirement.length > 0)
    .map((requirement) => requirement.map(([name, scopes]) => ({ name, scheme: schemeOf(document.at(schemes[name]), scopes, url) })));
  const chosen = requirements.find((requirement) => requirement.every(({ scheme }) => scheme)) ?? requirements[0] ?? [];
  const names = credentialNames(url, Object.keys(schemes));
  const found: { auth: WrittenAuth[]; credentials: CredentialToStore[]; notes: string[] } = { auth: [], credentials: [], notes: [] };
  for (const { name, scheme } of chosen) {
    const isFree = scheme && found.auth.length < maxSigners && !found.auth.some((other) => secretPlace(other) === secretPlace(scheme.auth));
    if (!isFree) {
      found.notes.push(`a flow cannot use the security scheme "${name}", so it was left out`);
      continue;
    }
    const credential = names.get(name) as string;
    found.auth.push({ ...scheme.auth, credential });
    found.credentials.push({ name: credential, note: `security scheme "${name}": store ${scheme.what} as the credential ${credential}` });
    if (scheme.note !== undefined) found.notes.push(scheme.note);
  }
  return found;
}

/** A name such as `swagger-api-key`. Schemes share no credentials, because a shared one might send a secret to the wrong place. */
function credentialNames(url: string, schemes: readonly string[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const isUsed = (name: string) => [...names.values()].includes(name);
  for (const scheme of schemes) names.set(scheme, freeName(`${hostWord(url)}-${schemeWords(scheme)}`, isUsed, '-'));
  return names;
}

/** Returns the name of a scheme or variable in the form that a credential's name can contain, such as `api-key` for `api_key` and `apiKey`. */
export function schemeWords(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1-$2').replace(/[^A-Za-z\d]+/g, '-');
  return (
    words
      .slice(0, 40)
      .replace(/^-+|-+$/g, '')
      .toLowerCase() || 'secret'
  );
}

function schemeOf(scheme: OpenApiObject, scopes: unknown, url: string): Scheme | undefined {
  switch (scheme.type) {
    case 'apiKey':
      if (String(scheme['x-amazon-apigateway-authtype']).toLowerCase() === 'awssigv4') return awsScheme(url);
      return keyScheme(String(scheme.name), scheme.in);
    case 'http':
      return httpSchemes.get(String(scheme.scheme).toLowerCase());
    case 'oauth2':
      return clientScheme(partOf(partOf(scheme.flows).clientCredentials), scopes, url) ?? tokenScheme;
    case 'openIdConnect':
      return tokenScheme;
    default:
      return undefined;
  }
}

const tokenScheme: Scheme = {
  what: 'an access token',
  auth: { type: 'bearer' },
  note: 'the API hands out access tokens after a login in a browser: store one, or let a connection with oauth2_authorization_code log in once and renew it (automate connections login)',
};

function keyScheme(name: string, place: unknown): Scheme | undefined {
  if (place === 'header') return { what: 'the key', auth: { type: 'api_key', header: name } };
  if (place === 'query') return { what: 'the key', auth: { type: 'api_key', query: name } };
  return place === 'cookie' ? { what: `the key as ${name}=KEY`, auth: { type: 'api_key', header: 'Cookie' } } : undefined;
}

const httpSchemes: ReadonlyMap<string, Scheme> = new Map([
  ['bearer', { what: 'the token', auth: { type: 'bearer' } }],
  ['basic', { what: 'username:password', auth: { type: 'basic' } }],
  ['digest', { what: 'username:password', auth: { type: 'digest' } }],
]);

/** The description of an API behind Amazon API Gateway marks IAM authorization in this way. Other hosts than Amazon's do not say the region. */
function awsScheme(url: string): Scheme {
  const isAmazon = /\.amazonaws\.com(?:\.cn)?$/.test(URL.canParse(url) ? new URL(url).hostname : '');
  const what = 'ACCESS_KEY_ID:SECRET_ACCESS_KEY';
  if (isAmazon) return { what, auth: { type: 'aws_sigv4' } };
  const note = 'replace us-east-1 with the region of the API';
  return { what, auth: { type: 'aws_sigv4', service: 'execute-api', region: 'us-east-1' }, note };
}

const clientId = 'my-client-id';

function clientScheme({ tokenUrl }: OpenApiObject, scopes: unknown, url: string): Scheme | undefined {
  const written = textIn(tokenUrl);
  if (written === undefined || !URL.canParse(written, url)) return undefined;
  const names = listOf(scopes).filter((scope) => typeof scope === 'string');
  const options = { token_url: new URL(written, url).href, client_id: clientId, ...(names.length > 0 && { scopes: names }) };
  return {
    what: "the client's secret",
    auth: { type: 'oauth2_client_credentials', ...options },
    note: `replace ${clientId} with the id of your client`,
  };
}
