/** A recording in the manner of a tool, and all secrets in it. */
export interface RecordedFile {
  readonly tool: string;
  readonly document: unknown;
  readonly secrets: readonly string[];
  /** The entries that are calls of an API, counted from 1. */
  readonly calls: readonly number[];
}

type Pair = readonly [name: string, value: string];

const list = (pairs: readonly Pair[]) => pairs.map(([name, value]) => ({ name, value }));
const base64 = (text: string) => Buffer.from(text).toString('base64');
const har = (creator: string, entries: readonly object[]) => ({
  log: { version: '1.2', creator: { name: creator, version: '1' }, entries },
});

interface Sent {
  readonly method?: string;
  readonly url: string;
  readonly headers?: readonly Pair[];
  readonly cookies?: readonly Pair[];
  readonly postData?: object;
}

interface Answered {
  readonly status?: number;
  readonly headers?: readonly Pair[];
  readonly cookies?: readonly Pair[];
  readonly content?: object;
}

function entry({ method = 'GET', url, headers = [], cookies = [], postData }: Sent, answer: Answered = {}, more: object = {}) {
  const query = [...new URL(url).searchParams].map(([name, value]) => ({ name, value }));
  return {
    startedDateTime: '2026-11-20T08:00:00.000Z',
    time: 12,
    ...more,
    request: {
      method,
      url,
      httpVersion: 'HTTP/2',
      headers: list(headers),
      cookies: list(cookies),
      queryString: query,
      headersSize: -1,
      bodySize: -1,
      ...(postData && { postData }),
    },
    response: {
      status: answer.status ?? 200,
      statusText: '',
      httpVersion: 'HTTP/2',
      headers: list(answer.headers ?? []),
      cookies: list(answer.cookies ?? []),
      content: answer.content ?? { size: 0, mimeType: 'x-unknown' },
      redirectURL: '',
      headersSize: -1,
      bodySize: -1,
    },
    cache: {},
    timings: {},
  };
}

const json = (value: unknown) => ({ size: 1, mimeType: 'application/json', text: JSON.stringify(value) });

const browser: readonly Pair[] = [
  [':authority', 'app.shop.example'],
  [':method', 'GET'],
  [':path', '/api'],
  [':scheme', 'https'],
  ['accept', 'application/json, text/plain, */*'],
  ['accept-encoding', 'gzip, deflate, br, zstd'],
  ['accept-language', 'de-DE,de;q=0.9'],
  ['sec-ch-ua', '"Chromium";v="142"'],
  ['sec-fetch-dest', 'empty'],
  ['sec-fetch-mode', 'cors'],
  ['user-agent', 'Mozilla/5.0'],
];

const chromeSecrets = {
  jwt: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiIsIm4iOjF9.Q2hyb21lU2lnbmF0dXJl',
  session: 's%3Ach7Rm3Xk9LqPz2Vw8.aB4cD6eF8gH0',
  csrf: 'c5rfT0ken4Chrome81',
  rotated: 'n3xtS3ssion5Value77',
  refresh: 'r3fr3shTok3nOfChr0me',
  apiKey: 'pk9f8e7d6c5b4a3928171605',
  password: 'Corr3ct-H0rse-Battery',
  upload: 'up1oadS1gnature99x',
  socket: 's0cketTicket2233aa',
};

const chrome: RecordedFile = {
  tool: 'Chrome',
  secrets: Object.values(chromeSecrets),
  calls: [3, 4, 5, 6, 7],
  document: har('WebInspector', [
    entry(
      { url: 'https://app.shop.example/', headers: [...browser, ['cookie', `sid=${chromeSecrets.session}`]] },
      { content: { mimeType: 'text/html', text: '<html></html>' } },
      { _resourceType: 'document' },
    ),
    entry(
      {
        method: 'OPTIONS',
        url: 'https://api.shop.example/v1/orders?limit=20',
        headers: [
          ['access-control-request-method', 'GET'],
          ['access-control-request-headers', 'authorization'],
        ],
      },
      { status: 204 },
      { _resourceType: 'preflight' },
    ),
    entry(
      {
        url: 'https://api.shop.example/v1/orders?limit=20&status=open',
        headers: [
          ...browser,
          ['authorization', `Bearer ${chromeSecrets.jwt}`],
          ['cookie', `sid=${chromeSecrets.session}; lang=de`],
          ['x-csrf-token', chromeSecrets.csrf],
          ['x-client-version', '4.18.2'],
        ],
        cookies: [['sid', chromeSecrets.session]],
      },
      {
        headers: [['set-cookie', `sid=${chromeSecrets.rotated}; Path=/; HttpOnly\nlang=de; Path=/`]],
        content: {
          size: 99,
          mimeType: 'application/json; charset=utf-8',
          encoding: 'base64',
          text: base64(JSON.stringify({ data: [{ id: 'o-1', total: 12.5, lines: [{ sku: 'a' }] }], meta: { total: 1 } })),
        },
      },
      { _resourceType: 'xhr' },
    ),
    entry(
      {
        method: 'POST',
        url: 'https://api.shop.example/v1/login',
        headers: [...browser, ['content-type', 'application/json;charset=UTF-8']],
        postData: {
          mimeType: 'application/json;charset=UTF-8',
          text: JSON.stringify({ email: 'ada@example.com', password: chromeSecrets.password, remember: true }),
        },
      },
      { content: json({ user: { id: 42, name: 'Ada' }, access_token: chromeSecrets.jwt, refresh_token: chromeSecrets.refresh }) },
      { _resourceType: 'fetch' },
    ),
    entry(
      { method: 'DELETE', url: 'https://api.shop.example/v1/orders/o-1', headers: [...browser, ['x-api-key', chromeSecrets.apiKey]] },
      { status: 204, content: { size: 0, mimeType: 'x-unknown' } },
      { _resourceType: 'fetch' },
    ),
    entry(
      {
        method: 'POST',
        url: 'https://api.shop.example/v1/files',
        headers: [...browser, ['content-type', 'multipart/form-data; boundary=----WebKitFormBoundaryAb12']],
        postData: {
          mimeType: 'multipart/form-data; boundary=----WebKitFormBoundaryAb12',
          text: [
            '------WebKitFormBoundaryAb12\r\nContent-Disposition: form-data; name="title"\r\n\r\nInvoice 17\r\n',
            `------WebKitFormBoundaryAb12\r\nContent-Disposition: form-data; name="upload_token"\r\n\r\n${chromeSecrets.upload}\r\n`,
            '------WebKitFormBoundaryAb12\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\nContent-Type: application/pdf\r\n\r\n\r\n',
            '------WebKitFormBoundaryAb12--\r\n',
          ].join(''),
        },
      },
      { status: 201, content: json({ id: 'f-1' }) },
      { _resourceType: 'xhr' },
    ),
    entry(
      {
        method: 'POST',
        url: 'https://api.shop.example/graphql',
        headers: [...browser, ['content-type', 'application/json'], ['authorization', `Bearer ${chromeSecrets.jwt}`]],
        postData: {
          mimeType: 'application/json',
          text: JSON.stringify({
            query: 'query Q($id: ID!) { order(id: $id) { id total lines { nodes { sku } } } }',
            variables: { id: 'o-1' },
          }),
        },
      },
      { content: json({ data: { order: { id: 'o-1', total: 12.5, lines: { nodes: [{ sku: 'a' }] } } } }) },
      { _resourceType: 'fetch' },
    ),
    entry(
      {
        method: 'POST',
        url: 'https://metrics.shop.example/collect',
        headers: [
          ['content-type', 'text/plain;charset=UTF-8'],
          ['sec-fetch-mode', 'no-cors'],
        ],
        postData: { mimeType: 'text/plain;charset=UTF-8', text: '{"event":"view"}' },
      },
      { status: 204 },
      { _resourceType: 'ping' },
    ),
    entry(
      { url: `https://push.shop.example/socket?ticket_token=${chromeSecrets.socket}` },
      { status: 101 },
      { _resourceType: 'websocket' },
    ),
    entry(
      { url: 'https://app.shop.example/main.js', headers: [['sec-fetch-dest', 'script']] },
      { content: { mimeType: 'application/javascript', text: 'x' } },
      { _resourceType: 'script' },
    ),
  ]),
};

const firefoxSecrets = {
  session: 'PHPs3ss1on8d7f6a5b4c',
  password: 'f1refox-Passw0rd',
  authenticity: 'Zm9vYmFyMTIzNDU2Nzg5MA',
  key: 'AIzaSyFirefox0Key1Of2Maps3Example45678',
  answer: 'answ3rT0kenFirefox66',
};

const firefox: RecordedFile = {
  tool: 'Firefox',
  secrets: Object.values(firefoxSecrets),
  calls: [1, 2, 3],
  document: har('Firefox', [
    entry(
      {
        method: 'POST',
        url: 'https://intern.example.org/login.php',
        headers: [
          ['Host', 'intern.example.org'],
          ['Content-Type', 'application/x-www-form-urlencoded'],
          ['Content-Length', '93'],
          ['Cookie', `PHPSESSID=${firefoxSecrets.session}`],
        ],
        cookies: [['PHPSESSID', firefoxSecrets.session]],
        // Firefox leaves the text empty, and lists the parameters.
        postData: {
          mimeType: 'application/x-www-form-urlencoded',
          text: '',
          params: list([
            ['user', 'ada lovelace'],
            ['passwort', firefoxSecrets.password],
            ['password', firefoxSecrets.password],
            ['authenticity_token', firefoxSecrets.authenticity],
          ]),
        },
      },
      { content: json({ ok: true, token: firefoxSecrets.answer }) },
    ),
    entry(
      {
        url: `https://maps.example.org/geocode/json?address=Berlin&key=${firefoxSecrets.key}`,
        headers: [
          ['Host', 'maps.example.org'],
          ['Accept', '*/*'],
          ['Accept-Encoding', 'gzip, deflate, br'],
          ['DNT', '1'],
        ],
      },
      { content: json({ results: [{ place_id: 'p1', geometry: { location: { lat: 52.5, lng: 13.4 } } }], status: 'OK' }) },
    ),
    entry(
      {
        url: 'https://intern.example.org/feed.xml?page=2',
        headers: [
          ['Accept', 'application/xml'],
          ['Cookie', `PHPSESSID=${firefoxSecrets.session}`],
        ],
      },
      {
        content: {
          mimeType: 'application/xml; charset=utf-8',
          text: `<?xml version="1.0"?><items><item><id>1</id><title>A</title></item><item><id>2</id><title>B</title></item><sessionToken>${firefoxSecrets.answer}</sessionToken></items>`,
        },
      },
    ),
    entry({ url: 'https://intern.example.org/app.woff2' }, { content: { mimeType: 'font/woff2', text: 'AAAA', encoding: 'base64' } }),
  ]),
};

const safariSecrets = { bearer: '0paqueS4fariToken7711', cookie: 'aT9sD8fG7hJ6kL5zX4', nonce: 'b4sicPassw0rd5678' };

const safari: RecordedFile = {
  tool: 'Safari',
  secrets: [...Object.values(safariSecrets), base64(`robot:${safariSecrets.nonce}`)],
  calls: [1, 2, 3],
  document: har('WebKit Web Inspector', [
    // The answer's text is missing, as for answers that the cache removed.
    entry(
      {
        url: 'https://cloud.example.net/api/me',
        headers: [
          ['Authorization', `Bearer ${safariSecrets.bearer}`],
          ['Accept', 'application/json'],
        ],
        cookies: [['session', safariSecrets.cookie]],
      },
      { content: { size: 120, compression: 10, mimeType: 'application/json' } },
    ),
    entry(
      {
        method: 'PUT',
        url: 'https://cloud.example.net/api/me/settings',
        headers: [
          ['Authorization', `Basic ${base64(`robot:${safariSecrets.nonce}`)}`],
          ['Content-Type', 'application/json'],
        ],
        postData: { mimeType: 'application/json', text: '{"theme":"dark","volume":0.50,"big":12345678901234567890}' },
      },
      { content: { mimeType: 'x-unknown', text: '{"theme":"dark"}' } },
    ),
    entry(
      {
        method: 'POST',
        url: 'https://cloud.example.net/soap',
        headers: [
          ['Content-Type', 'text/xml; charset=utf-8'],
          ['SOAPAction', '"getUser"'],
        ],
        postData: {
          mimeType: 'text/xml; charset=utf-8',
          text: `<s:Envelope><s:Header><wsse:Password Type="x">${safariSecrets.nonce}</wsse:Password></s:Header><s:Body><id>17</id></s:Body></s:Envelope>`,
        },
      },
      { content: { mimeType: 'text/xml', text: '<s:Envelope><s:Body><user><id>17</id><name>Ada</name></user></s:Body></s:Envelope>' } },
    ),
  ]),
};

const charlesSecrets = {
  path: 'T0AAAAAAA/B0BBBBBBB/cH4rl3sW3bhookS3cr3t0001',
  key: 'ch4rlesSubscriptionKey11',
  user: 'l0ginPassw0rdInUrl',
};

const charles: RecordedFile = {
  tool: 'Charles',
  secrets: [charlesSecrets.path, charlesSecrets.key, charlesSecrets.user],
  calls: [1, 2, 3],
  document: har('Charles Proxy', [
    entry(
      {
        method: 'POST',
        url: `https://hooks.slack.com/services/${charlesSecrets.path}`,
        headers: [
          ['Host', 'hooks.slack.com'],
          ['Content-Type', 'application/json'],
        ],
        postData: { mimeType: 'application/json', text: '{"text":"hello"}' },
      },
      { content: { mimeType: 'text/html', text: 'ok', encoding: 'base64' } },
    ),
    entry(
      {
        url: `https://robot:${charlesSecrets.user}@legacy.example.com/rows?format=json`,
        headers: [['ocp-apim-subscription-key', charlesSecrets.key]],
      },
      { content: { mimeType: 'application/json', text: base64('[{"id":1,"name":"A"},{"id":2,"name":"B"}]'), encoding: 'base64' } },
    ),
    entry(
      {
        method: 'POST',
        url: 'https://legacy.example.com/upload',
        headers: [['Content-Type', 'multipart/form-data; boundary=xYz']],
        postData: {
          mimeType: 'multipart/form-data; boundary=xYz',
          params: [
            { name: 'secret', value: charlesSecrets.key },
            { name: 'tags', value: 'a' },
            { name: 'tags', value: 'b' },
            { name: 'document', fileName: 'report.csv', contentType: 'text/csv', value: 'id\n1\n' },
          ],
        },
      },
      { content: json({ ok: true }) },
    ),
  ]),
};

const mitmproxySecrets = {
  aws: 'AKIAIOSFODNN7EXAMPLE',
  signature: '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  security: 'IQoJb3JpZ2luX2VjEXAMPLEtoken0123456789',
  digest: '8ca523f5e9506fed4657c9700eebdbec',
  nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093',
  reset: 'r3s3tT0ken00aa11bb22',
};

const mitmproxy: RecordedFile = {
  tool: 'mitmproxy',
  secrets: Object.values(mitmproxySecrets),
  calls: [2, 3, 4],
  document: har('mitmproxy', [
    entry({ method: 'CONNECT', url: 'https://dynamodb.eu-central-1.amazonaws.com:443/' }),
    entry(
      {
        method: 'POST',
        url: 'https://dynamodb.eu-central-1.amazonaws.com/',
        headers: [
          [
            'Authorization',
            `AWS4-HMAC-SHA256 Credential=${mitmproxySecrets.aws}/20261120/eu-central-1/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=${mitmproxySecrets.signature}`,
          ],
          ['X-Amz-Date', '20261120T080000Z'],
          ['X-Amz-Security-Token', mitmproxySecrets.security],
          ['X-Amz-Target', 'DynamoDB_20120810.GetItem'],
          ['Content-Type', 'application/x-amz-json-1.0'],
        ],
        postData: { mimeType: 'application/x-amz-json-1.0', text: '{"TableName":"t","Key":{"id":{"S":"17"}}}', params: [] },
      },
      { content: { mimeType: 'application/x-amz-json-1.0', text: '{"Item":{"id":{"S":"17"}}}' } },
    ),
    entry(
      {
        url: 'https://device.example.com/status.json',
        headers: [
          [
            'Authorization',
            `Digest username="admin", realm="r", nonce="${mitmproxySecrets.nonce}", uri="/status.json", response="${mitmproxySecrets.digest}", qop=auth, nc=00000001, cnonce="0a4f113b"`,
          ],
        ],
      },
      { content: json({ uptime: 5 }) },
    ),
    entry(
      {
        method: 'PATCH',
        url: `https://api.example.com/accounts/reset/${mitmproxySecrets.reset}?v=1`,
        headers: [['Content-Type', 'application/json']],
        postData: { mimeType: 'application/json', text: JSON.stringify({ reset_token: mitmproxySecrets.reset, items: [{ n: 1 }] }) },
      },
      { status: 400, content: json({ error: `bad token ${mitmproxySecrets.reset}` }) },
    ),
  ]),
};

const places: RecordedFile = {
  tool: 'secrets in unusual places',
  secrets: [
    'fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024',
    'aB3/d9Zx8Yw7Vu6=',
    'pairPassw0rd99',
    'graphqlPassw0rd12',
    'callbackT0ken1234',
    'cdataPassw0rd123',
    'onlyT0kenAsUser12',
    'numberPassw0rd12',
    'innerT0ken9f8e7d',
    'basicPassw0rd777',
    'bodyInBase64Pass1',
  ],
  calls: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  document: har('places', [
    entry(
      {
        url: 'https://files.example.com/k.json?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20261120%2Fus-east-1%2Fs3&X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024&sig=aB3%2Fd9Zx8Yw7Vu6%3D',
      },
      { content: json({ ok: true }) },
    ),
    sent(JSON.stringify({ fields: [{ name: 'password', value: 'pairPassw0rd99' }] })),
    sent(JSON.stringify({ query: 'mutation { login(user: "a", password: "graphqlPassw0rd12") { ok } }' })),
    sent(JSON.stringify({ callback: 'https://cb.example.com/?token=callbackT0ken1234' })),
    sent('<a><password><![CDATA[cdataPassw0rd123]]></password></a>', 'application/xml'),
    entry({ url: 'https://onlyT0kenAsUser12@api.example.com/me' }, { content: json({ ok: true }) }),
    sent('{"n":1.50,"password":"numberPassw0rd12"}'),
    sent(JSON.stringify({ payload: JSON.stringify({ access_token: 'innerT0ken9f8e7d' }) })),
    entry(
      {
        method: 'POST',
        url: 'https://api.example.com/note',
        headers: [['Authorization', `Basic ${base64('bob:basicPassw0rd777')}`]],
        postData: { mimeType: 'application/json', text: JSON.stringify({ note: 'basicPassw0rd777' }) },
      },
      { content: json({ ok: true }) },
    ),
    entry(
      {
        method: 'POST',
        url: 'https://api.example.com/encoded',
        postData: { mimeType: 'application/json', text: base64('{"password":"bodyInBase64Pass1"}'), encoding: 'base64' },
      },
      { content: json({ ok: true }) },
    ),
  ]),
};

function sent(text: string, mimeType = 'application/json') {
  return entry({ method: 'POST', url: 'https://api.example.com/x', postData: { mimeType, text } }, { content: json({ ok: true }) });
}

export const recordings: readonly RecordedFile[] = [chrome, firefox, safari, charles, mitmproxy, places];
