import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readAllFiles, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer } from '../helpers/http-server.ts';
import { hasCurl, unlessCurl } from '../helpers/shell.ts';

const rows = 'user-id,name,city\n42,Ada,London\n43,Bob,Paris\n';
const token = 'tok_5f8Kq20vZ1x9LmB7';

async function nodesOf(place: Workplace, path = 'flow.yaml'): Promise<Record<string, unknown>[]> {
  return parse(await place.read(path)).nodes;
}

describe('automate init', () => {
  test('writes a valid flow.yaml', async () => {
    const place = await workplace({ 'rows.csv': 'id\n1\n' });
    const { code, stdout, stderr } = await place.automate(['init']);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('wrote flow.yaml\n');
    expect(stderr).toContain('\n  automate run flow.yaml --in rows.csv --out out.csv\n');
    expect(await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv'])).toMatchObject({ code: 0, stderr: '' });
    expect(await nodesOf(place)).toEqual([{ type: 'http', url: 'https://api.example.com/items/{{id}}' }]);
  });

  test("creates the flow's folder", async () => {
    const place = await workplace();
    const { code, stderr } = await place.automate(['init', 'new/my flow']);
    expect(code).toBe(0);
    expect(stderr).toContain("automate validate 'new/my flow/flow.yaml' --in rows.csv\n");
    expect(await nodesOf(place, 'new/my flow/flow.yaml')).toHaveLength(1);
  });

  test('replaces a flow only with --force', async () => {
    const place = await workplace({ 'flow.yaml': 'mine' });
    const refused = await place.automate(['init']);
    expect([refused.code, await place.read('flow.yaml')]).toEqual([73, 'mine']);
    expect(refused.stderr).toContain('flow.yaml exists already');
    expect((await place.automate(['init', '--force'])).code).toBe(0);
    expect(await nodesOf(place)).toHaveLength(1);
  });

  test.each([
    ['rows.csv', 'rows.csv/flow.yaml cannot be written: rows.csv is not a folder'],
    ['odd', 'odd/flow.yaml cannot be written: it is a folder'],
  ])('exits with 74 if it cannot write to %s', async (folder, message) => {
    const place = await workplace({ 'rows.csv': rows });
    await mkdir(place.path('odd/flow.yaml'), { recursive: true });
    expect(await place.automate(['init', folder])).toMatchObject({ code: 74, stderr: expect.stringContaining(message) });
  });

  test('writes into the current folder if the name is empty', async () => {
    const place = await workplace();
    expect(await place.automate(['init', ''])).toMatchObject({ code: 0, stderr: expect.stringContaining('wrote flow.yaml') });
    expect((await place.automate(['init', '-'])).stderr).toContain('\n  automate validate ./-/flow.yaml --in rows.csv\n');
  });

  test('suggests file names in the format of the input', async () => {
    const place = await workplace();
    const { stderr } = await place.automate(['init', '--in', '-', '--in-format', 'ndjson'], { stdin: '{"id":1}\n' });
    expect(stderr).toContain('next, with your records in rows.ndjson:\n');
    expect(stderr).toContain('\n  automate run flow.yaml --in rows.ndjson --out out.ndjson\n');
  });

  test.each([
    ['rows.csv', 'name,ID,city\n', '{{ID}}', 'name, ID, city'],
    ['rows.tsv', 'name\torder_id\nx\t1\n', '{{order_id}}', 'name, order_id'],
    ['rows.csv', 'a-b,a b\nx,y\n', '{{a_b}}', '# The fields of rows.csv: a-b, a b'],
    ['rows.json', '[{"":1,"b":2}]', '{{b}}', '"", b'],
    ['rows.csv', 'email,name\na@b,x\n', '{{email}}', 'email, name'],
    ['rows.ndjson', '{"a":1,"id":2}\n', '{{id}}', 'a, id'],
    ['rows.json', '[{"x\\n":1,"_id":2}]', '{{_id}}', '"x\\n", _id'],
    ['rows.csv', `${Array.from({ length: 33 }, (_, index) => `c${index}`).join(',')}\n`, '{{c0}}', 'c29, and 3 more'],
  ])('lists the fields of %s with the content %j', async (name, text, reference, listed) => {
    const place = await workplace({ [name]: text });
    expect((await place.automate(['init', '--in', name])).code).toBe(0);
    expect((await nodesOf(place)).at(-1)).toMatchObject({ url: `https://api.example.com/items/${reference}` });
    expect((await place.read('flow.yaml')).split('\n')[0]).toContain(listed);
    expect(await place.automate(['validate', 'flow.yaml', '--in', name])).toMatchObject({ code: 0, stderr: '' });
  });

  test('gives a name to every column whose own name cannot be used in a reference', async () => {
    const place = await workplace({ 'rows.csv': rows });
    await place.automate(['init', '--in', 'rows.csv']);
    expect(await nodesOf(place)).toEqual([{ type: 'http', url: 'https://api.example.com/items/{{user_id}}' }]);
    expect(await place.read('flow.yaml')).toContain('columns:\n  user_id: user-id\n');
  });

  test.each([
    ['id;name\n1\n', `"id;name"\n  if ";" separates the cells: --delimiter ';'\n`, ';'],
    ['id\tname\n1\n', 'if tabs separate the cells: --delimiter tab\n', 'tab'],
  ])('refuses a CSV header that seems to use a different delimiter: %j', async (text, message, delimiter) => {
    const place = await workplace({ 'rows.csv': text });
    const refused = await place.automate(['init', '--in', 'rows.csv']);
    expect([refused.code, refused.stderr, await place.files()]).toEqual([2, expect.stringContaining(message), ['rows.csv']]);
    const { code, stderr } = await place.automate(['init', '--in', 'rows.csv', '--delimiter', delimiter]);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('one column')]);
    expect(await nodesOf(place)).toEqual([{ type: 'http', url: 'https://api.example.com/items/{{id}}' }]);
  });

  test('repeats the options for the input as they were written, in the commands to run next', async () => {
    const place = await workplace({ 'rows.csv': 'title\nid\tname\n1\tAda\n' });
    const reading = '--header-line 2 --delimiter tab --trim';
    const { code, stderr } = await place.automate(['init', '--in', 'rows.csv', ...reading.split(' ')]);
    expect(code).toBe(0);
    expect(stderr).toContain(`\n  automate validate flow.yaml --in rows.csv ${reading}\n`);
    expect(stderr).toContain(`\n  automate run flow.yaml --in rows.csv ${reading} --out out.csv\n`);
  });

  test('accepts a column name with a semicolon if --delimiter is set', async () => {
    const place = await workplace({ 'rows.csv': 'id;name\n1\n' });
    expect((await place.automate(['init', '--in', 'rows.csv', '--delimiter', ','])).code).toBe(0);
    expect(await place.read('flow.yaml')).toContain('columns:\n  id_name: id;name\n');
  });

  test('writes nothing if the input cannot be read', async () => {
    const place = await workplace();
    expect((await place.automate(['init', '--in', 'none.csv'])).code).toBe(6);
    expect(await place.files()).toEqual([]);
  });
});

describe('automate init --from-curl', () => {
  test('says that variables of a shell stay text, unless they stand for secrets', async () => {
    const place = await workplace({});
    const curl = `curl "https://a.example/$ACCOUNT/x" -u $ACCOUNT:$SECRET --json '{"query":"query($id: ID!) { a(id: $id) { b } }"}'`;
    const { code, stderr } = await place.automate(['init', '--from-curl', curl]);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('  variables of a shell stay text in a flow: write the value instead of $ACCOUNT\n'),
    ]);
  });

  test('names typographic quotes outside of other quotes', async () => {
    const place = await workplace({});
    expect(await place.automate(['init', '--from-curl', 'curl \u201chttps://a.example\u201d'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('found the typographic quote \u201c, which no shell knows; write \' or "\n'),
    });
    const inside = "$ curl https://a.example -H 'X-Text: say \u201chello\u201d'";
    expect(await place.automate(['init', '--from-curl', inside])).toMatchObject({ code: 0 });
  });

  test('replaces values from the input with fields, and secrets with credentials', async () => {
    const place = await workplace({ 'rows.csv': rows });
    const curl = `curl -X PUT 'https://api.acme.co.uk/v2/users/42?city=London' -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' --data '{"name":"Ada","userId":42}'`;
    const { code, stderr } = await place.automate(['init', '--in', 'rows.csv', '--from-curl', curl]);
    expect(code).toBe(0);
    expect(await nodesOf(place)).toEqual([
      {
        type: 'http',
        method: 'PUT',
        url: 'https://api.acme.co.uk/v2/users/{{user_id}}?city={{city}}',
        auth: { type: 'bearer', credential: 'acme-token' },
        body: { name: '{{name}}', userId: { cel: 'int(user_id)' } },
      },
    ]);
    expect(stderr).toContain('not written: the header "Authorization"; store it as the credential acme-token');
    expect(stderr).toContain('\n  automate credentials set acme-token\n');
    expect(stderr + (await place.read('flow.yaml'))).not.toContain(token);
  });

  test.each([
    [`curl 'https://a.example/?api_key=${token}&x=1'`, { type: 'api_key', query: 'api_key' }],
    [`curl https://a.example/ -H 'X-API-Key: ${token}'`, { type: 'api_key', header: 'X-API-Key' }],
    [`curl https://a.example/ -u ada:${token}`, { type: 'basic' }],
    [`curl https://ada:${token}@a.example/`, { type: 'basic' }],
    [`curl https://a.example/ --oauth2-bearer ${token}`, { type: 'bearer' }],
    [`curl https://a.example/ -b 'session=${token}'`, { type: 'api_key', header: 'Cookie' }],
    [`curl https://a.example/ -H 'Authorization: Bearer ${token}' -H 'X-API-Key: ${token}x'`, { type: 'bearer' }],
  ])('never writes a secret to the flow: %s', async (curl, auth) => {
    const place = await workplace();
    const { code, stderr } = await place.automate(['init', '--from-curl', '-'], { stdin: curl });
    const text = await place.read('flow.yaml');
    const [signer] = [(await nodesOf(place))[0]?.auth].flat();
    expect([code, signer]).toEqual([0, { ...auth, credential: expect.any(String) }]);
    expect(text + stderr).not.toContain(token);
    expect(text + stderr).not.toContain(Buffer.from(`ada:${token}`).toString('base64'));
    expect((await place.automate(['validate', 'flow.yaml'])).stderr).toContain('there is no credential');
  });

  test('creates a credential for a secret in a body', async () => {
    const place = await workplace({ 'rows.csv': 'id,password\n1,x\n' });
    const curl = `curl https://a.example/login -d '{"user":"ada","password":"${token}"}'`;
    const { code, stderr } = await place.automate(['init', '--in', 'rows.csv', '--from-curl', curl]);
    expect([code, (await nodesOf(place))[0]?.body]).toEqual([0, { user: 'ada', password: { credential: 'a-password' } }]);
    expect(stderr).toContain('automate credentials set a-password');
    expect(stderr).not.toContain(token);
  });

  test('creates fields and credentials for the values of a form', async () => {
    const place = await workplace({ 'rows.ndjson': '{"id":4217}\n' });
    const curl = `curl https://api.acme.com/token -d 'user=4217&client_secret=${token}&grant_type=client_credentials'`;
    const { code, stderr } = await place.automate(['init', '--in', 'rows.ndjson', '--from-curl', curl]);
    const form = { user: '{{id}}', client_secret: { credential: 'acme-secret' }, grant_type: 'client_credentials' };
    expect([code, (await nodesOf(place))[0]?.form]).toEqual([0, form]);
    expect(stderr).toContain('store it as the credential acme-secret');
    expect(stderr + (await place.read('flow.yaml'))).not.toContain(token);
  });

  test('never writes or prints any part of a secret', async () => {
    const place = await workplace();
    const secret = (n: number) => `CANARY${n}`;
    const body = { password: secret(1), api_key: secret(2), csrfmiddlewaretoken: secret(3), deep: [{ token: secret(4), key: secret(5) }] };
    const commands = [
      `curl https://a.example/x -d 'password=${secret(21)}&api_key=${secret(22)}&a=1' --data-urlencode 'token=${secret(23)}'`,
      `curl 'https://ann:${secret(6)}@a.example/x?key=${secret(7)}&q=2' -d '${JSON.stringify(body)}'`,
      `curl 'https://a.example/x?sig=${secret(8)}&appid=${secret(9)}' -H 'Cookie: a=${secret(10)}' -b 'sid=${secret(11)}'`,
      `curl https://a.example/x -b sid=secret -H 'X-Csrf-Token: ${secret(12)}' -H 'X-Api-Key: ${secret(13)}' -H 'authorization: ${secret(14)}'`,
      `curl 'https://a.example/x?password=${secret(15)}&xsrf=${secret(16)}&token=${secret(17)}&api_key=${secret(18)}&secret=${secret(19)}&pwd=${secret(20)}'`,
    ];
    for (const [index, command] of commands.entries()) {
      const { code, stdout, stderr } = await place.automate(['init', `flow-${index}`, '--from-curl', '-'], { stdin: command });
      expect([code, stdout + stderr]).toEqual([0, expect.not.stringContaining('CANARY')]);
      const { stderr: problems } = await place.automate(['validate', `flow-${index}/flow.yaml`]);
      expect(problems).not.toMatch(/literal|CANARY/);
      expect(problems).toContain('there is no credential');
    }
    expect(await readAllFiles(place)).not.toContain('CANARY');
  });

  test.each([
    [['made'], 'made'],
    [['.'], 'api.acme.com'],
  ])("names the flow after its folder or the URL's host: %s", async (folder, name) => {
    const place = await workplace();
    await place.automate(['init', ...folder, '--from-curl', 'curl https://api.acme.com/x']);
    expect(parse(await place.read(`${folder[0]}/flow.yaml`)).name).toBe(name);
  });

  test.each([
    ['http://127.0.0.1:4010/v1/airports/AKL', 'airports'],
    ['http://localhost:4010/api/users.json?id=AKL', 'users'],
    ['http://shop.localhost/v2/AKL/orders/', 'orders'],
    ['http://[::1]:4010/users/17', 'users'],
    ['https://192.0.2.7/v1/users/AKL', 'users'],
    ['http://127.0.0.1:4010/v1/AKL', 'flow'],
    ['http://127.0.0.1:4010', 'flow'],
    ['http://127.0.0.1:4010/k8Xq2Lm9Zt4Rw7Vb1Np5/AKL', 'flow'],
  ])('names the flow after the last fixed word of the path if the host says nothing about the API: %s', async (url, name) => {
    const place = await workplace({ 'trips.csv': 'airport\nAKL\n' });
    expect(await place.automate(['init', '--in', 'trips.csv', '--from-curl', `curl ${url}`])).toMatchObject({ code: 0 });
    expect(parse(await place.read('flow.yaml')).name).toBe(name);
  });

  test('keeps numbers in the body numeric, even if their values come from CSV cells', async () => {
    const place = await workplace({ 'rows.csv': 'id,price\n17,2.5\n' });
    const body = '{"id":17,"text":{"id":"17"},"price":2.5,"other":3}';
    const { code, stderr } = await place.automate(['init', '--in', 'rows.csv', '--from-curl', `curl https://a.example -d '${body}'`]);
    const made = { id: { cel: 'int(id)' }, text: { id: '{{id}}' }, price: { cel: 'double(price)' }, other: 3 };
    expect([code, (await nodesOf(place))[0]?.body]).toEqual([0, made]);
    expect(stderr).toContain(
      'replaced 17 by {{id}} in: id in the body, text.id in the body\n  replaced 2.5 by {{price}} in: price in the body\n',
    );
    expect(await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv'])).toMatchObject({ code: 0 });
  });

  const placesOf = async (file: string, curl: string) => {
    const place = await workplace({ 'rows.csv': file });
    const { code, stderr } = await place.automate(['init', '--in', 'rows.csv', '--from-curl', '-'], { stdin: `curl ${curl}` });
    const notes = stderr.split('\n').filter((line) => line.startsWith('  replaced '));
    return { code, notes: notes.map((note) => note.trim()), node: (await nodesOf(place)).at(-1) };
  };

  test('replaces a value of one or two characters only in the path, and where the name is like the field', async () => {
    const { code, notes, node } = await placesOf(
      'id,customer_id,qty\n1,17,x\n',
      `-X PUT 'https://1.example.com/v1/items/1?page=1&limit=1&ID=1&customer=17&customerId=17&filter[id]=1&q=x' -H 'X-Customer-Id: 17' -H 'X-Page: 1' -d '{"n":1,"user":17,"ids":[1],"customer":{"id":"17"}}'`,
    );
    expect([code, notes]).toEqual([
      0,
      [
        'replaced 1 by {{id}} in: the path, the query parameter ID, the query parameter "filter[id]", ids[0] in the body',
        'replaced 17 by {{customer_id}} in: the query parameter customerId, the header X-Customer-Id, customer.id in the body',
      ],
    ]);
    expect(node).toEqual({
      type: 'http',
      method: 'PUT',
      url: 'https://1.example.com/v1/items/{{id}}?page=1&limit=1&ID={{id}}&customer=17&customerId={{customer_id}}&filter[id]={{id}}&q=x',
      headers: { 'X-Customer-Id': '{{customer_id}}', 'X-Page': '1' },
      body: { n: 1, user: 17, ids: [{ cel: 'int(id)' }], customer: { id: '{{customer_id}}' } },
    });
  });

  test.each([
    ['page,id', 'users', 'id'],
    ['page,user_id,id', 'users', 'user_id'],
    ['page,Company,id', 'companies', 'Company'],
    ['page,user_id', 'people', 'user_id'],
  ])('chooses the column for a short value in the path by its name: %s behind %s', async (header, segment, name) => {
    const row = header.replaceAll(/[^,]+/g, '1');
    const { notes, node } = await placesOf(`${header}\n${row}\n`, `https://a.example/v1/${segment}/1?limit=1`);
    expect([notes, node?.url]).toEqual([[`replaced 1 by {{${name}}} in: the path`], `https://a.example/v1/${segment}/{{${name}}}?limit=1`]);
  });

  test.each(['page,size', 'user_id,order_id'])(
    'keeps a short value in the path if it might be from several columns: %s',
    async (header) => {
      const place = await workplace({ 'rows.csv': `${header}\n1,1\n` });
      const { code, stderr } = await place.automate(['init', '--in', 'rows.csv', '--from-curl', 'curl https://a.example/people/1']);
      const [one, other] = header.split(',');
      expect([code, (await nodesOf(place)).at(-1)?.url]).toEqual([0, 'https://a.example/people/1']);
      expect(stderr).toContain(
        `\n  kept 1 in the path, because ${one} and ${other} have the same value: if it is one of them, write {{${one}}} or {{${other}}} there\n`,
      );
    },
  );

  test('replaces a longer value in every place, and prefers the field with the name of the place', async () => {
    const { notes, node } = await placesOf(
      'id,first,last,flag\n1234,Ann,Ann,true\n',
      `'https://1234.example.com/x1234/1234?q=1234&last=Ann&active=true&flag=true' -H 'X-Ref: 1234' -d 'a=1234&b=Ann&year=12345'`,
    );
    expect(notes).toEqual([
      'replaced 1234 by {{id}} in: the path, the query parameter q, the header X-Ref, a in the body',
      'replaced Ann by {{last}} in: the query parameter last',
      'replaced true by {{flag}} in: the query parameter flag',
      'replaced Ann by {{first}} in: b in the body',
    ]);
    expect(node).toMatchObject({
      url: 'https://1234.example.com/x1234/{{id}}?q={{id}}&last={{last}}&active=true&flag={{flag}}',
      headers: { 'X-Ref': '{{id}}' },
      form: { a: '{{id}}', b: '{{first}}', year: '12345' },
    });
  });

  test('does not show a replaced value that might be a secret', async () => {
    const { notes, node } = await placesOf(
      `token,note\nabc123,${token}\n`,
      `'https://a.example/x?token=abc123&q=${token}' -H 'X-API-Key: abc123'`,
    );
    expect(notes).toEqual([
      "replaced the first record's token by {{token}} in: the query parameter token",
      "replaced the first record's note by {{note}} in: the query parameter q",
    ]);
    expect(node).toMatchObject({ auth: { type: 'api_key', header: 'X-API-Key' } });
  });

  test('writes nothing if the request cannot be expressed as a flow', async () => {
    const place = await workplace();
    const { code, stderr } = await place.automate(['init', '--from-curl', `curl https://a.example -F file=x -H 'X-Key: ${token}'`]);
    expect([code, stderr, await place.files()]).toEqual([2, expect.stringContaining("curl's -F is not supported"), []]);
    expect(stderr).not.toContain(token);
  });
});

describe('a flow that init creates from a curl command', () => {
  test.skipIf(!hasCurl).each([
    ['/plain?a=1&b=two%20words', ''],
    ['/form', `-X PATCH -H 'X-Trace: a b' --data-raw '{"a": [1, {"b": null}], "c": "d\\u00e9"}' -H 'content-type: application/json'`],
    ['/exact', `--json '{"n": 12345678901234567890, "t": 1.50}'`],
    ['/query?a=1', `-G --data-urlencode 'q=x y&z' -d page=2`],
    ['/vendor', `-H 'Content-Type: application/vnd.api+json' -d '{}'`],
    ['/agent', `-A 'my agent/1' -e https://ref.example/ -b 'lang=en' -sSL --compressed`],
    ['/ansi', `-H 'Content-Type: application/json' --data $'{"t":"it\\'s \\u00e9\\\\n"}'`],
    ['/delete/7', `-XDELETE -H'Accept: text/plain'`],
    ['/login', `-u 'ada:pass word1'`],
    ['/empty', `-H 'X-Empty;'`],
  ])(`sends exactly what curl sends to %s %s${unlessCurl}`, async (path, options) => {
    const server = await httpServer();
    const command = `curl ${options} '${server.origin}${path}'`;
    await promisify(execFile)('bash', ['--norc', '-c', command], { env: { PATH: process.env.PATH ?? '', LC_ALL: 'C.UTF-8' } });
    const place = await workplace({ 'rows.csv': 'field\nvalue of a field\n' });
    const made = await place.automate(['init', '--in', 'rows.csv', '--from-curl', command]);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining('it sends the same request for every record')]);
    const env = { AUTOMATE_CREDENTIAL_MY_LOGIN: 'ada:pass word1', AUTOMATE_CREDENTIAL_MY_TOKEN: 'lang=en' };
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env })).code).toBe(0);
    const [byCurl, byFlow] = server.requests.map(({ method, path, headers, body }) => {
      const {
        accept,
        authorization,
        cookie,
        referer,
        'content-type': type,
        'user-agent': agent,
        'x-trace': trace,
        'x-empty': empty,
      } = headers;
      const said = { accept, authorization, cookie, referer, trace, empty, agent: agent?.replace(/^(?:curl|automate)\/.*/, 'its own') };
      const kind = type === 'application/x-www-form-urlencoded' ? 'application/json' : type;
      return { method, path, body, said, kind };
    });
    expect({ ...byFlow, body: compact(byFlow?.body) }).toEqual({ ...byCurl, body: compact(byCurl?.body) });
  });

  const xml = "-H 'Content-Type: text/xml'";

  test.skipIf(!hasCurl).each([
    [`-d 'a=b c&d=%26+x' --data-urlencode 'q=x y&z=1' -d 'd=2'`, { form: { a: 'b c', d: ['& x', '2'], q: 'x y&z=1' } }],
    [`-X PUT -d a= -H 'Content-Type: application/x-www-form-urlencoded; charset=utf-8'`, { method: 'PUT', form: { a: '' } }],
    ["-d 'only text'", { text: 'only text', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }],
    [`${xml} --data-raw '<a b="1">&amp;</a>'`, { text: '<a b="1">&amp;</a>', headers: { 'Content-Type': 'text/xml' } }],
    [`-H 'Content-Type: text/plain' -d '{{'`, { text: '{{' }],
  ])(`sends the same form or text body as curl: %s${unlessCurl}`, async (options, written) => {
    const server = await httpServer();
    const command = `curl ${options} '${server.origin}/x'`;
    await promisify(execFile)('bash', ['--norc', '-c', command], { env: { PATH: process.env.PATH ?? '' } });
    const place = await workplace({ 'rows.csv': 'field\nvalue\n' });
    expect(await place.automate(['init', '--in', 'rows.csv', '--from-curl', command])).toMatchObject({ code: 0 });
    expect((await nodesOf(place))[0]).toMatchObject(written);
    expect((await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'])).code).toBe(0);
    const sent = server.requests.map(({ method, headers, body }) => {
      const pairs = 'form' in written ? [...new URLSearchParams(body)].sort().join() : body;
      return [method, headers['content-type'], pairs];
    });
    expect(sent[1]).toEqual(sent[0]);
  });

  /** Removes white space between the tokens of JSON. */
  function compact(body = ''): string {
    return body.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1').replaceAll('\\u00e9', 'é');
  }
});

test('init --from-curl refuses a URL with a bot token in its path', async () => {
  const place = await workplace();
  const curl = `curl https://api.telegram.org/bot123456:${'CANARY1234567890'.repeat(2)}/getMe`;
  const { code, stderr } = await place.automate(['init', 'new', '--from-curl', curl]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('contains a secret, which must not be written into a flow')]);
  expect(stderr).not.toContain('CANARY');
  expect(await place.files()).toEqual([]);
});
