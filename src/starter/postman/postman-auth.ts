import { orUndefined } from '../../core/value/value.ts';
import { type JsonPart, partOf, textIn } from '../json-parts.ts';
import { hostWord, type TranslatedAuth } from '../starter-secrets.ts';
import type { WrittenAuth } from '../written-node.ts';
import { parameterOf } from './collection.ts';
import type { Variables } from './variables.ts';

/** A type of `auth`, without the name of the credential. */
interface Way {
  readonly auth: WrittenAuth;
  readonly what: string;
  /** The parameter with the secret, whose variable names the credential. */
  readonly secret: string | undefined;
  readonly kind: string;
  readonly notes?: readonly string[];
}

/** `url` names the credentials. A type that flows do not have is left out with a note. */
export function translatedAuth(auth: JsonPart, variables: Variables, url: string): TranslatedAuth {
  const type = textIn(auth.type);
  if (type === undefined || type === 'noauth') return { auth: [], credentials: [], notes: [] };
  const read = (name: string) => parameterOf(auth, name);
  const way = Object.hasOwn(ways, type) ? ways[type]?.(read, variables, url) : undefined;
  if (!way) return { auth: [], credentials: [], notes: [`auth of the type "${type}" was left out: a flow does not have it`] };
  const credential = variables.credentialOf(way.secret ?? '') ?? `${hostWord(url)}-${way.kind}`;
  return {
    auth: [{ ...way.auth, credential }],
    credentials: [{ name: credential, note: `auth "${type}": store ${way.what} as the credential ${credential}` }],
    notes: way.notes ?? [],
  };
}

type Read = (name: string) => string | undefined;

const ways: Readonly<Record<string, (read: Read, variables: Variables, url: string) => Way>> = {
  bearer: (read) => ({ auth: { type: 'bearer' }, what: 'the token', secret: read('token'), kind: 'token' }),
  basic: (read, variables) => login('basic', read, variables),
  digest: (read, variables) => login('digest', read, variables),
  apikey(read, variables) {
    const name = variables.literal(read('key') ?? '') || 'X-API-Key';
    const auth: WrittenAuth = read('in') === 'query' ? { type: 'api_key', query: name } : { type: 'api_key', header: name };
    return { auth, what: 'the key', secret: read('value'), kind: 'token' };
  },
  oauth2,
  jwt,
  asap,
  awsv4: aws,
};

/** Postman has defaults for services behind other hosts than those of AWS, whose names say both. */
function aws(read: Read, variables: Variables, url: string): Way {
  const defaults: WrittenAuth = /^https?:\/\/[^/?#]*\.amazonaws\.com/i.test(url) ? {} : { service: 'execute-api', region: 'us-east-1' };
  const written = literals({ service: read('service'), region: read('region') }, variables);
  const isGuess = (['service', 'region'] as const).some((name) => read(name) !== undefined && written[name] === undefined);
  return {
    auth: { type: 'aws_sigv4', ...defaults, ...written },
    what: `ACCESS_KEY_ID:SECRET_ACCESS_KEY${read('sessionToken') === undefined ? '' : ':SESSION_TOKEN'}`,
    secret: undefined,
    kind: 'aws',
    notes: isGuess ? ['the collection has no value for the service or region of AWS: write them into auth'] : [],
  };
}

/** A user name that is a variable stays in the flow. Any other one is stored together with the password. */
function login(type: string, read: Read, variables: Variables): Way {
  const written = read('username') ?? '';
  const username = written.includes('{{') ? (publicText(written, variables) ?? '') : '';
  const isPublic = /^\{\{vars\.\w+\}\}$/.test(username);
  return {
    auth: { type, ...(isPublic && { username }) },
    what: isPublic ? 'the password' : 'username:password',
    secret: isPublic ? read('password') : undefined,
    kind: 'login',
  };
}

function oauth2(read: Read, variables: Variables): Way {
  const tokenUrl = variables.literal(read('accessTokenUrl') ?? '');
  const clientId = read('clientId');
  if (read('grant_type') === 'client_credentials' && tokenUrl && clientId !== undefined) {
    const scopes = (variables.literal(read('scope') ?? '') ?? '').split(/[\s,]+/).filter((scope) => scope !== '');
    const id = clientId.includes('{{') ? publicText(clientId, variables) : clientId;
    return {
      auth: {
        type: 'oauth2_client_credentials',
        token_url: tokenUrl,
        client_id: id ?? 'my-client-id',
        ...(scopes.length > 0 && { scopes }),
        ...(read('client_authentication') === 'body' && { client_auth: 'body' }),
      },
      what: "the client's secret",
      secret: read('clientSecret'),
      kind: 'secret',
      notes: id === undefined ? ['replace my-client-id with the id of your client'] : [],
    };
  }
  const isQuery = read('addTokenTo') === 'queryParams';
  return {
    auth: isQuery ? { type: 'api_key', query: 'access_token' } : { type: 'bearer' },
    what: 'an access token',
    secret: read('accessToken'),
    kind: 'token',
    notes: [
      'Postman gets access tokens by a login: store one, or let a connection with oauth2_authorization_code log in once and renew it (automate connections login)',
    ],
  };
}

/** Undefined if the text needs a credential. */
function publicText(text: string, variables: Variables): string | undefined {
  return variables.literal(text) === undefined ? undefined : variables.inText(text);
}

/** The claims iat and exp are made anew for each token. */
function jwt(read: Read, variables: Variables): Way {
  const { iss, sub, aud, iat: _, exp: __, nbf: ___, ...claims } = jsonIn(read('payload'), variables);
  const { kid } = jsonIn(read('header'), variables);
  const isQuery = read('addTokenTo') === 'queryParam';
  const prefix = read('headerPrefix');
  const texts = { algorithm: read('algorithm'), issuer: iss, subject: sub, audience: aud, key_id: kid };
  return {
    auth: {
      type: 'jwt',
      ...literals(texts, variables),
      ...(Object.keys(claims).length > 0 && { claims }),
      ...(prefix !== undefined && prefix !== 'Bearer' && { prefix: `${prefix.trim()} ` }),
    },
    what: read('privateKey') === undefined ? 'the key that signs the token' : 'the private key (PEM)',
    secret: read('privateKey') ?? read('secret'),
    kind: 'key',
    notes: [
      ...(isQuery ? ['Postman sends the token in the query; the flow sends it in the header Authorization'] : []),
      ...(read('isSecretBase64Encoded') === 'true' ? ['the key is encoded in base64: decode it before you store it'] : []),
    ],
  };
}

/** Atlassian's name for a JWT that is signed with a private key. */
function asap(read: Read, variables: Variables): Way {
  const texts = { algorithm: read('alg'), issuer: read('iss'), subject: read('sub'), audience: read('aud'), key_id: read('kid') };
  const claims = jsonIn(read('claims'), variables);
  return {
    auth: { type: 'jwt', ...literals(texts, variables), ...(Object.keys(claims).length > 0 && { claims }) },
    what: 'the private key (PEM)',
    secret: read('privateKey'),
    kind: 'key',
  };
}

function jsonIn(text: string | undefined, variables: Variables): JsonPart {
  const literal = text === undefined ? undefined : variables.literal(text);
  return literal === undefined ? {} : partOf(orUndefined(() => JSON.parse(literal)));
}

function literals(texts: Readonly<Record<string, unknown>>, variables: Variables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => {
      const value = text === undefined ? undefined : variables.literal(String(text));
      return value ? [[name, value]] : [];
    }),
  );
}
