/** A collection of Postman, and all secrets in it. */
export interface CollectionFile {
  readonly version: string;
  readonly document: unknown;
  readonly secrets: readonly string[];
}

const secrets = {
  bearer: 'b3arerOfTheCollection01',
  basicUser: 'robot-of-basic',
  basic: 'b4sicPasswordOfFolder2',
  apiKey: 'ap1KeyOfRequest333444',
  queryKey: 'qu3ryKeyOfRequest5566',
  client: 'cl1entSecretOfOauth7788',
  access: 'acc3ssTokenOfOauth9900',
  digest: 'd1gestPasswordOf1122',
  awsKey: 'AKIAIOSFODNN7EXAMPLE',
  aws: 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1',
  session: 'FwoGZXIvYXdzEXAMPLEsession0123',
  jwt: 'jwtS1gningSecretOf3344',
  hawk: 'h4wkAuthKeyOfRequest5566',
  ntlm: 'ntlmPassw0rdOfRequest77',
  vague: 'v4gueValueInAPasswordField8',
  nested: 'n3stedValueBehindAVariable9',
  typed: 't1pedAsSecretInTheCollection',
  answer: 'answ3rSessionToken12345',
  cookie: 'c00kieOfTheSavedAnswer678',
  xml: 'xm1PasswordOfTheBody9012',
  disabled: 'd1sabledHeaderToken3456',
};

type Params = Readonly<Record<string, string>>;

/** Version 2.0 writes the parameters of `auth` as a mapping, version 2.1 as a list. */
const auth = (isNew: boolean, type: string, params: Params) => ({
  type,
  [type]: isNew ? Object.entries(params).map(([key, value]) => ({ key, value, type: 'string' })) : params,
});

const url = (isNew: boolean, raw: string, more: object = {}) => {
  const [address = '', query = ''] = raw.split('?');
  const [host = '', ...path] = address.replace(/^https:\/\//, '').split('/');
  const pairs = query === '' ? [] : query.split('&').map((pair) => ({ key: pair.split('=')[0], value: pair.split('=')[1] }));
  if (!isNew && Object.keys(more).length === 0) return raw;
  return { raw, host: host.split('.'), path, ...(pairs.length > 0 && { query: pairs }), ...more };
};

function bodies(isNew: boolean) {
  const post = (name: string, body: object, header: unknown = []) => ({
    name,
    request: { method: 'POST', header, body, url: url(isNew, '{{baseUrl}}/things') },
  });
  return {
    name: 'Bodies',
    item: [
      post('raw json', {
        mode: 'raw',
        raw: '{"name":"{{name}}","limit":{{limit}},"password":"{{p1}}","pin":{"passcode":"{{p2}}"},"on":true}',
        options: { raw: { language: 'json' } },
      }),
      post('raw xml', {
        mode: 'raw',
        raw: `<login><user>ada</user><password>${secrets.xml}</password></login>`,
        options: { raw: { language: 'xml' } },
      }),
      post('raw text', { mode: 'raw', raw: 'hello {{name}}' }, [{ key: 'Content-Type', value: 'text/plain' }]),
      post('urlencoded', {
        mode: 'urlencoded',
        urlencoded: [
          { key: 'user', value: 'ada' },
          { key: 'password', value: '{{p1}}' },
          { key: 'off', value: 'x', disabled: true },
        ],
      }),
      post('formdata', {
        mode: 'formdata',
        formdata: [
          { key: 'title', value: 'Invoice', type: 'text' },
          { key: 'client_secret', value: secrets.client, type: 'text' },
          { key: 'document', type: 'file', src: '/home/ada/a.pdf' },
        ],
      }),
      post('graphql', {
        mode: 'graphql',
        graphql: { query: 'query ($id: ID!) { user(id: $id) { id } }', variables: '{"id": "{{userId}}"}' },
      }),
      post('file', { mode: 'file', file: { src: '/home/ada/b.bin' } }),
      post('none', {}),
    ],
  };
}

function auths(isNew: boolean) {
  const get = (name: string, type: string, params: Params, more: object = {}) => ({
    name,
    request: { method: 'GET', header: [], url: url(isNew, '{{baseUrl}}/me'), auth: auth(isNew, type, params), ...more },
  });
  return {
    name: 'Auths',
    auth: auth(isNew, 'basic', { username: secrets.basicUser, password: secrets.basic }),
    item: [
      { name: 'inherited', request: { method: 'GET', header: [], url: url(isNew, '{{baseUrl}}/me?fields=id,name') } },
      { name: 'noauth', request: { method: 'GET', header: [], url: url(isNew, '{{baseUrl}}/open'), auth: { type: 'noauth' } } },
      get('bearer', 'bearer', { token: '{{p1}}' }),
      get('basic', 'basic', { username: '{{who}}', password: '{{p2}}' }),
      get('apikey', 'apikey', { key: 'X-Key', value: secrets.apiKey, in: 'header' }),
      get('apikey in the query', 'apikey', { key: 'k', value: secrets.queryKey, in: 'query' }),
      get('oauth2', 'oauth2', {
        grant_type: 'client_credentials',
        accessTokenUrl: 'https://login.example.com/token',
        clientId: 'client-17',
        clientSecret: secrets.client,
        accessToken: secrets.access,
        scope: 'read write',
      }),
      get('oauth2 by login', 'oauth2', { grant_type: 'authorization_code', accessToken: secrets.access, addTokenTo: 'header' }),
      get('digest', 'digest', { username: 'admin', password: secrets.digest, algorithm: 'MD5' }),
      get('awsv4', 'awsv4', {
        accessKey: secrets.awsKey,
        secretKey: secrets.aws,
        sessionToken: secrets.session,
        region: 'eu-central-1',
        service: 'execute-api',
      }),
      get('jwt', 'jwt', { algorithm: 'HS256', secret: secrets.jwt, payload: '{"iss":"app-1","team":"a"}', addTokenTo: 'header' }),
      get('hawk', 'hawk', { authId: 'id-1', authKey: secrets.hawk, algorithm: 'sha256' }),
      get('ntlm', 'ntlm', { username: 'DOMAIN\\ada', password: secrets.ntlm }),
    ],
  };
}

function places(isNew: boolean) {
  const get = (name: string, header: unknown, raw: string, more: object = {}) => ({
    name,
    request: { method: 'GET', header, url: url(isNew, raw, more) },
  });
  return {
    name: 'Places',
    item: [
      get('path variable', [], '{{baseUrl}}/users/:userId/posts/:post', {
        variable: [
          { key: 'userId', value: '42' },
          { key: 'post', value: '{{postId}}' },
        ],
      }),
      get('vague header', [{ key: 'X-Api-Key', value: '{{k}}' }], '{{baseUrl}}/me'),
      get('vague query', [], '{{baseUrl}}/me?api_key={{k2}}&page={{page}}'),
      get(
        'header as text',
        isNew ? [{ key: 'Authorization', value: 'Token {{t}}' }] : 'Authorization: Token {{t}}\nX-Tenant: acme',
        '{{host}}/me',
      ),
      get('disabled', [{ key: 'X-Auth-Token', value: secrets.disabled, disabled: true }], `https://api.example.com/${secrets.disabled}/x`),
      get('nested', [{ key: 'X-Secret-Key', value: '{{outer}}' }], '{{baseUrl}}/nested?note={{inner}}'),
      {
        ...get('with answer', [], '{{baseUrl}}/orders/17'),
        event: [{ listen: 'test', script: { exec: [`pm.environment.set("token", "${secrets.answer}")`] } }],
        response: [
          {
            name: 'ok',
            code: 200,
            header: [
              { key: 'Content-Type', value: 'application/json' },
              { key: 'Set-Cookie', value: `sid=${secrets.cookie}; Path=/` },
            ],
            cookie: [{ name: 'sid', value: secrets.cookie, path: '/' }],
            body: JSON.stringify({ id: 17, total: 5, session_token: secrets.answer, lines: [{ sku: 'a' }, { sku: 'b' }] }),
          },
        ],
      },
    ],
  };
}

function collection(isNew: boolean) {
  const version = isNew ? 'v2.1.0' : 'v2.0.0';
  return {
    info: { name: 'CRM', schema: `https://schema.getpostman.com/json/collection/${version}/collection.json` },
    auth: auth(isNew, 'bearer', { token: '{{accessToken}}' }),
    variable: [
      { key: 'host', value: 'api.example.com' },
      { key: 'baseUrl', value: 'https://{{host}}/{{version}}/' },
      { key: 'version', value: 'v3' },
      { key: 'accessToken', value: secrets.bearer },
      { key: 'p1', value: secrets.vague },
      { key: 'p2', value: '' },
      { key: 'outer', value: '{{inner}}' },
      { key: 'inner', value: secrets.nested },
      { key: 'misc', value: secrets.typed, type: 'secret' },
      { key: 'limit', value: '50', type: 'number' },
      { key: 'who', value: 'ada' },
    ],
    item: [
      { name: 'Root', request: { method: 'GET', header: [{ key: 'X-Misc', value: '{{misc}}' }], url: url(isNew, '{{baseUrl}}/root') } },
      bodies(isNew),
      auths(isNew),
      places(isNew),
    ],
  };
}

export const collections: readonly CollectionFile[] = [
  { version: 'v2.1', document: collection(true), secrets: Object.values(secrets) },
  { version: 'v2.0', document: collection(false), secrets: Object.values(secrets) },
];

export const requestNames: readonly string[] = [
  'Root',
  ...[bodies(true), auths(true), places(true)].flatMap(({ name, item }) => item.map((one) => `${name}/${one.name}`)),
];
