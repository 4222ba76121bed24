import { describe, expect, test } from 'vitest';
import { curlRequest } from '../../src/cli/curl.ts';
import { ExactNumber } from '../../src/core/value/value.ts';
import { starterFlow } from '../../src/starter/starter.ts';

describe('parsing a curl command line', () => {
  test.each([
    ['wget https://a.example', 'expected a command line that begins with curl'],
    ['curl', 'expected one URL in the curl command, found none'],
    ['curl https://a.example https://b.example', 'found 2'],
    ['curl https://a.example | jq .', 'found "|" after it'],
    ['curl https://a.example |jq .', 'found "|" after it'],
    ['curl https://a.example -o x 2>/dev/null', 'found "2>" after it'],
    ['curl https://a.example # as above', 'found "#" after it'],
    ['curl ^"https://a.example^" ^\n  -H ^"accept: */*^"', 'choose "Copy as cURL (bash)"'],
    [' ', 'begins with curl, found nothing'],
    [`curl https://a.example --json '{"a":1}' -d '{"b":2}'`, 'expected a JSON body'],
    ["curl 'https://a.example", 'a quote in the command is not closed'],
    ['curl https://a.example -F file=x', "curl's -F is not supported"],
    ['curl https://a.example --ntlm -u a:b', 'a flow cannot do what this option of curl does: --ntlm'],
    ['curl https://a.example --cert a.pem', 'write client_cert: { cert: FILE, key: FILE } into a connection of the flow'],
    ['curl https://a.example -H', "curl's -H needs a value"],
    [`curl https://a.example -d ${'['.repeat(2000)}${']'.repeat(2000)}`, 'expected a JSON body'],
    [`curl https://a.example -d '{"a":'`, 'expected a JSON body'],
    ["curl https://a.example -d a=b -H 'Content-Type: application/json'", 'expected a JSON body'],
    [
      'curl https://a.example --form a=b',
      'is not supported: -d or --data-urlencode sends a form without files; for one with files write form: { name: { file: PATH } }',
    ],
    ['curl https://a.example -X DELETE -d a=b', 'a DELETE cannot have a body in a flow'],
    ['curl https://a.example -d @body.json', 'a body from a file'],
    ['curl https://a.example -X DELETE -d {}', 'a DELETE cannot have a body in a flow'],
    ['curl https://a.example -X TRACE', 'found TRACE'],
    [
      'curl https://hooks.slack.com/services/T0000000/B0000000/aBcDeFgHiJkLmNoPqRsTuVwX -d {}',
      'contains a secret, which must not be written into a flow',
    ],
  ])('fails for "%s"', (curl, message) => {
    expect(() => starterFlow(curlRequest(curl).request)).toThrow(message);
  });

  test.each(['-I', '--head'])('asks only for the headers with %s', (option) => {
    expect(starterFlow(curlRequest(`curl ${option} https://a.example`).request).text).toContain('method: HEAD\n');
  });

  test.each(['application/x-amz-json-1.0', 'application/x-amz-json-1.1', 'text/x-json; charset=utf-8'])(
    'makes a body from JSON with the type %s',
    (type) => {
      const { text } = starterFlow(curlRequest(`curl https://a.example -H 'Content-Type: ${type}' -d '{"TableName": "x"}'`).request);
      expect(text).toContain(`Content-Type: ${type}`);
      expect(text).toContain('body:\n      TableName: x\n');
    },
  );

  test('keeps other text with such a type as text', () => {
    const { text } = starterFlow(curlRequest("curl https://a.example -H 'Content-Type: application/x-amz-json-1.0' -d 'a=b'").request);
    expect(text).toContain('text: a=b');
  });

  test('produces a note for each curl option that a flow cannot express', () => {
    const { notes } = curlRequest('curl -k -x proxy.example:3128 --cacert ca.pem https://a.example -m 2.5 --retry 2');
    expect(notes.map((note) => note.split(' was')[0])).toEqual(['-k', '-x', '--cacert']);
  });

  test('keeps the timeout and the number of retries of the command line', () => {
    const { text } = starterFlow(curlRequest('curl https://a.example -m 2.5 --retry 2').request);
    expect(text).toContain('timeout: 2500ms\n    retry:\n      max: 2\n');
  });

  test.each([
    ['localhost:9200/a?b', 'http://localhost:9200/a?b'],
    ['[::1]:9200/a', 'http://[::1]:9200/a'],
    ['{{base_url}}/a', '{{base_url}}/a'],
    ['https://api.example.com/ --url-query a=1 --url-query +b=%20', 'https://api.example.com/?a=1&b=%20'],
    ['127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['api.example.com/a', 'https://api.example.com/a'],
    ['http://api.example.com/a#part', 'http://api.example.com/a'],
  ])('accepts a URL without a scheme: %s', (written, url) => {
    expect(curlRequest(`curl ${written}`).request.url).toBe(url);
  });

  test.each([
    ["-d ''", 'method: POST'],
    ['-b a=1 -b b=2', 'header: Cookie'],
    ["-H 'X-A: 1' -H 'x-a: 2' -H 'X-B: 3' -H 'X-B: 3'", 'X-A: 1, 2\n      X-B: "3"\n'],
    ["-A '' -e '' -b ''", 'url: https://a.example\n    # auth'],
    ['-I', 'method: HEAD\n'],
    ['--digest -u ann:pass', 'auth:\n      type: digest\n      credential: digest-login\n'],
    [
      '--aws-sigv4 aws:amz:eu-west-1:es -u AKIA:key',
      'type: aws_sigv4\n      service: es\n      region: eu-west-1\n      credential: aws\n',
    ],
    ['--aws-sigv4 aws:amz -u AKIA:key -H "x-amz-security-token: t0k3n"', 'auth:\n      type: aws_sigv4\n      credential: aws\n    #'],
  ])('produces a flow that sends what curl sends: %s', (options, written) => {
    expect(starterFlow(curlRequest(`curl https://a.example ${options}`).request).text).toContain(written);
  });

  test.each([
    ['', 'ACCESS_KEY_ID:SECRET_ACCESS_KEY as'],
    ["-H 'X-Amz-Security-Token: t0k3n'", 'ACCESS_KEY_ID:SECRET_ACCESS_KEY:SESSION_TOKEN as'],
  ])('says which key of --aws-sigv4 to store, with a session token only if there is one: %s', (header, key) => {
    const [credential] = curlRequest(`curl https://a.example --aws-sigv4 aws:amz -u AKIA:key ${header}`).credentials;
    expect(credential?.note).toBe(`not written: the key of --aws-sigv4; store ${key} the credential aws`);
  });
});

const token = 'tok_5f8Kq20vZ1x9LmB7';

describe('a secret in a curl command line', () => {
  test.each([
    [
      'becomes a field reference in the body',
      `-d '{"api_key":"${token}","n":1.50,"x":["a"]}'`,
      `body: '{"api_key":"{{api_key}}","n":1.50,"x":["a"]}'`,
    ],
    [
      'is found by the name of its parameter, not by its value',
      `-d '{"username":"admin","password":"admin"}'`,
      'username: admin\n      password:\n        credential: a-password\n',
    ],
    ['can be the word password itself', `-d '{"password":"password"}'`, 'password:\n        credential: a-password\n'],
    [
      'is replaced in both positions in a body',
      `-d '{"a":"${token}","password":"${token}"}'`,
      'a:\n        credential: a-password\n      password:\n        credential: a-password\n',
    ],
    [
      'leaves the other query parameters unchanged',
      '--url-query password=7 --url-query page=70 --url-query n=7',
      'url: https://a.example?page=70&n=7\n',
    ],
  ])('%s', (_, options, written) => {
    const { text } = starterFlow(curlRequest(`curl https://a.example ${options}`).request);
    expect(text).toContain(written);
    expect(text).not.toContain(token);
  });

  test('becomes a field in XML, which cannot have a credential', () => {
    const xml = '<Login><User>ann</User><Password>hunter22secret</Password></Login>';
    const { text, notes } = starterFlow(curlRequest(`curl https://a.example -H 'Content-Type: text/xml' -d '${xml}'`).request);
    expect(text).toContain('<User>ann</User><Password>{{Password}}</Password>');
    expect(notes).toEqual(['a secret is taken from the field "Password", because it cannot be a credential in its place']);
  });

  test('that only signs the request is stored as a credential', () => {
    const { request, credentials } = curlRequest('curl https://a.example --digest -u ann:hunter22secret');
    expect(credentials.map(({ name }) => name)).toEqual(['digest-login']);
    expect(JSON.stringify(request)).not.toContain('hunter22secret');
  });

  test('can be the user name in the URL', () => {
    const { text, credentials } = starterFlow(curlRequest(`curl https://${token}@a.example/x`).request);
    expect([text, credentials.length]).toEqual([expect.stringContaining('url: https://a.example/x\n    auth:\n      type: basic'), 1]);
  });

  test.each([
    [
      `-b 'sid=${token}' -H 'x-api-key: k1${token}' -H 'authorization: Bearer t1${token}'`,
      '- type: bearer\n',
      ['authorization', 'x-api-key', 'Cookie'],
    ],
    [`-b 'sid=${token}' -H 'x-api-key: k1${token}'`, '- type: api_key\n        header: x-api-key', ['x-api-key', 'Cookie']],
    [`-b 'sid=${token}' --url-query api_key=k1${token}`, 'query: api_key', ['api_key', 'Cookie']],
    [`-b 'sid=${token}'`, 'type: api_key\n      header: Cookie', ['Cookie']],
  ])("becomes a credential, and the node's auth prefers the Authorization header: %s", (options, auth, signs) => {
    const { text, credentials } = starterFlow(curlRequest(`curl https://a.example ${options}`).request);
    expect(text).toContain(auth);
    expect(credentials.map(({ note }) => note.replace(/.*?"(.*?)".*/, '$1'))).toEqual(signs);
  });

  test('is refused if it also occurs in a place where it cannot be replaced', () => {
    const { request } = curlRequest(`curl https://a.example -H 'X-API-Key: ${token}' -d '{"n":1.50,"x":"by ${token}"}'`);
    expect(() => starterFlow(request)).toThrow('the header "X-API-Key" contains a secret that is also in another part of the request');
  });

  test('causes only one note, even if the body contains several secrets', () => {
    const { notes } = starterFlow(curlRequest(`curl https://a.example -d '{"n":1.50,"password":["${token}","${token}x1"]}'`).request);
    expect(notes).toHaveLength(1);
  });

  test.each([
    ['the header "X-Odd"', "-H 'X-Odd: a8F3kL9xQ2mZ7pW4'"],
    ['the header "X-Odd"', "-H 'X-Odd: id=9f86d081884c7d65; b=1'"],
    ['the query parameter "v"', '--url-query v=0f8fad5b-d9cb-469f-a165-70867728950e'],
    ["a part of the URL's path", '--url https://a.example/x/a8F3kL9xQ2mZ7pW4/y'],
    ['"odd" in the body', `-d '{"a":[{"odd":"a8F3kL9xQ2mZ7pW4"}]}'`],
    ['a value of the body', `-d '{"n":1.50,"odd":"a8F3kL9xQ2mZ7pW4"}'`],
  ])('is suspected, and a note says so, if %s looks random', (place, options) => {
    const url = options.includes('--url ') ? '' : 'https://a.example/v1/customer-profiles/2024-01-01T00:00:00Z';
    const { notes } = starterFlow(curlRequest(`curl ${url} ${options}`).request);
    expect(notes).toEqual([`${place} looks random: if it is a secret, store it as a credential, and refer to the credential in the flow`]);
  });

  test('is left out, and a note says so, if a flow has no option for it', () => {
    const headers = [1, 2, 3, 4, 5].map((n) => `-H 'X-Key-${n}-Token: ${token}${n}'`);
    const { text, notes } = starterFlow(
      curlRequest(`curl https://ann:${token}@a.example ${headers.join(' ')} -H 'Authorization: x'`).request,
    );
    expect(text).not.toContain(token);
    expect(notes.map((note) => note.replace(/.* contains/, 'contains'))).toEqual(
      expect.arrayContaining(['contains a secret and was left out: a request carries at most 4 credentials']),
    );
  });
});

describe('a flow from a curl command line', () => {
  test('refers to fields of the first record if the command line contains their values', () => {
    const values = { 'a-b': 'Ada', 'a b': new ExactNumber('12345678901234567890'), yes: true, none: null, 'x\ny': 'Zoë' };
    const example = { name: 'rows.json', columns: ['', ...Object.keys(values)], fields: new Map(Object.entries(values)) };
    const { request } = curlRequest(
      `curl https://a.example/12345678901234567890/true -d '{"name":"Ada","t":true,"z":null,"n":1.50,"u":"Zo\\u00eb"}'`,
    );
    const { text, notes } = starterFlow(request, { example });
    expect(text).toContain('columns:\n  a_b: a-b\n  a_b_2: a b\n  x_y: |-\n    x\n    y\n');
    expect(text).toContain('https://a.example/{{a_b_2}}/true');
    expect(text).toContain(`body: '{"name":"{{a_b}}","t":true,"z":null,"n":1.50,"u":"{{x_y}}"}'`);
    expect(notes).toContain('replaced Zoë by {{x_y}} in: u in the body');
  });
});
