import { mkdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

const rules = `
    rules:
      "no e-mail address": email.contains("@")
      "age is not between 0 and 120": int(age) >= 0 && int(age) <= 120
`;

const flowOf = (options: string, more = '') => `nodes:\n  - type: check${options}${more}`;

const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

const contacts = 'email,age\na@b,17\nab,x\nc@d,200\nef,30\n';

describe('a check', () => {
  test('sends records that break a rule to the errors file, before they cost a request', async () => {
    const server = await answeringServer(() => ({ body: { ok: true } }));
    const request = `  - { type: http, url: "${server.origin}/{{age}}", map: { ok: ok } }\n`;
    const place = await workplace({ 'flow.yaml': flowOf(rules, request), 'rows.csv': contacts });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(4);
    expect(await place.read('out.csv')).toBe('email,age,ok\na@b,17,true\n');
    expect(server.requests).toHaveLength(1);
    const errors = await place.read('out.errors.csv');
    expect(errors).toContain('check-1,check,,"no e-mail address; age is not between 0 and 120 (expected a whole number, found ""x"")",0,2');
    expect(errors).toContain('check-1,check,,age is not between 0 and 120,0,3');
    expect(errors).toContain('check-1,check,,no e-mail address,0,4');
    expect(stderr).toContain('\n  check-1: no e-mail address 2, age is not between 0 and 120 2\n');
  });

  test('names a missing or unexpected column as a path, also if the path needs quotes', async () => {
    const schema = { required: ['First Name'], properties: { id: true, 'a.b': { minLength: 3 } }, additionalProperties: false };
    const files = {
      'flow.yaml': flowOf('\n    schema: s.json\n'),
      's.json': JSON.stringify(schema),
      'rows.csv': 'id,a.b,Last Name\n1,x,y\n',
    };
    const { stderr } = await (await workplace(files)).automate(run);
    expect(stderr).toContain('$["First Name"]: is missing');
    expect(stderr).toContain('$["Last Name"]: is not expected');
    expect(stderr).toContain('$["a.b"]: expected not to have fewer than 3 characters');
  });

  test.each(['First Name', 'first_name'])(
    'finds a column to which the flow gives another name in a schema that calls it %s',
    async (name) => {
      const schema = { required: [name], properties: { [name]: { minLength: 3 }, id: true }, additionalProperties: false };
      const files = {
        'flow.yaml': `columns: { first_name: First Name }\n${flowOf('\n    schema: s.json\n')}`,
        's.json': JSON.stringify(schema),
        'rows.csv': 'id,First Name\n1,Ada\n2,A\n',
      };
      const place = await workplace(files);
      const { code, stderr } = await place.automate(run);
      expect([code, await place.read('out.csv')]).toEqual([4, 'id,First Name\n1,Ada\n']);
      expect(stderr).toContain(
        `${name === 'First Name' ? '$["First Name"]' : '$.first_name'}: expected not to have fewer than 3 characters, found "A"`,
      );
    },
  );

  test('only counts with action: warn', async () => {
    const place = await workplace({ 'flow.yaml': flowOf(`${rules}    action: warn\n`), 'rows.csv': contacts });
    const { code, stderr } = await place.automate([...run, '--summary', 'summary.json']);
    expect([code, await place.read('out.csv')]).toEqual([0, contacts]);
    expect(stderr).toContain('check-1: no e-mail address 2, age is not between 0 and 120 2\n');
    const counts = [
      { rule: 'no e-mail address', records: 2 },
      { rule: 'age is not between 0 and 120', records: 2 },
    ];
    expect(JSON.parse(await place.read('summary.json')).checks).toEqual([{ node: 'check-1', rules: counts }]);
  });

  test('is in the report and in one line of the summary, with the rules in the order of the flow', async () => {
    const flow = flowOf('\n    rules: { "first\\nline": age == "30", second: email == "ef", third: "true" }\n    action: warn\n');
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': 'email,age\nab,30\nef,31\nef,32\n' });
    const { code, stderr } = await place.automate([...run, '--report', 'report.html']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('\n  check-1: first line 2, second 1\n')]);
    const text = (await place.read('report.html')).replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    expect(text).toContain('Broken rules by records Node Rule Records check-1 first line 2 check-1 second 1');
  });

  test.each([
    ['', '2:5: a check needs rules, or the schema of a record'],
    ['\n    rules: { "x": "missing > 1" }\n', '3:19: no record has a field "missing" here'],
    ['\n    rules: { "x": "email +" }\n', '3:27: not a CEL expression'],
    ['\n    rules: { "x": [] }\n', '3:19: expected'],
    ['\n    schema: 5\n', '3:13: expected'],
    ['\n    schema: none.json\n', '3:13: the file none.json cannot be read: there is no such file'],
  ])('is a problem of the flow with the options %j', async (options, message) => {
    const place = await workplace({ 'flow.yaml': flowOf(options), 'rows.csv': contacts });
    const { code, stderr } = await place.automate(run);
    expect(code).toBe(3);
    expect(stderr).toContain(message);
    expect(stderr).toContain('1 problem in flow.yaml');
    expect(await place.files()).not.toContain('out.csv');
  });
});

const schema = (body: object, draft?: string) => JSON.stringify({ ...(draft && { $schema: draft }), type: 'object', ...body });

/** Runs a check with a schema, over records in JSON lines. Returns the messages of the records that fail. */
async function misfits(files: Record<string, string>, records: readonly object[], input = 'rows.ndjson') {
  const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const place = await workplace({ 'flow.yaml': flowOf('\n    schema: schemas/contact.json\n'), [input]: lines });
  await mkdir(place.path('schemas/parts'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await place.write(name, text);
  const { code, stderr } = await place.automate(['run', 'flow.yaml', '--in', input, '--out', 'out.ndjson']);
  expect([3, code]).not.toEqual([3, 3]);
  const errors = code === 4 ? (await place.read('out.errors.ndjson')).trim().split('\n') : [];
  return { place, stderr, messages: errors.map((line) => JSON.parse(line)._error.message as string) };
}

describe('the schema of a record', () => {
  test('names the first three places that do not fit, and what was expected there', async () => {
    const contact = schema({
      required: ['id'],
      additionalProperties: false,
      properties: {
        id: { type: 'integer' },
        mail: { type: 'string', format: 'email' },
        tags: { type: 'array', items: { enum: ['new', 'old'] } },
        price: { multipleOf: 0.01 },
      },
    });
    const { messages } = await misfits({ 'schemas/contact.json': contact }, [
      { id: 1, mail: 'a@b.org', tags: ['new'], price: 0.07 },
      { id: '1', mail: 'x', tags: ['new', 'used'], other: 1 },
      { mail: 'a@b.org' },
    ]);
    expect(messages).toEqual([
      'schemas/contact.json: $.other: is not expected; $.id: expected integer, found "1"; $.mail: expected the format email, found "x"; and 1 more',
      'schemas/contact.json: $.id: is missing',
    ]);
  });

  test.each(['http://json-schema.org/draft-07/schema#', 'https://json-schema.org/draft/2020-12/schema', undefined])(
    'can refer to parts of itself and to files beside it: %s',
    async (draft) => {
      const contact = schema(
        {
          properties: { address: { $ref: 'parts/address.json' }, id: { $ref: '#/definitions/id' } },
          definitions: { id: { type: 'number' } },
        },
        draft,
      );
      const address = schema({ properties: { zip: { $ref: '../zip.json#/$defs/zip' } }, required: ['zip'] }, draft);
      const zip = JSON.stringify({ $defs: { zip: { type: 'string', pattern: '^\\d{5}$' } } });
      const files = { 'schemas/contact.json': contact, 'schemas/parts/address.json': address, 'schemas/zip.json': zip };
      const { messages } = await misfits(files, [
        { id: 1, address: { zip: '01234' } },
        { id: 1, address: { zip: '1' } },
        { id: 'x', address: {} },
      ]);
      expect(messages).toHaveLength(2);
      expect(messages[0]).toContain('$.address.zip: expected to match pattern');
      expect(messages[1]).toContain('$.address.zip: is missing');
    },
  );

  test.each([undefined, 'contact.json', 'https://example.com/schemas/contact.json'])(
    'can be referred to by the files beside it, with $id: %s',
    async ($id) => {
      const properties = { zip: { type: 'string' }, part: { $ref: 'parts/part.json' } };
      const contact = JSON.stringify({ $id, properties });
      const part = JSON.stringify({ $id: $id && 'part.json', properties: { whole: { $ref: '../contact.json' }, id: { $ref: 'id.json' } } });
      const files = { 'schemas/contact.json': contact, 'schemas/parts/part.json': part, 'schemas/parts/id.json': '{"type":"integer"}' };
      const { messages } = await misfits(files, [
        { zip: '1', part: { whole: { zip: '1' }, id: 1 } },
        { zip: '1', part: { whole: { zip: 1, part: { id: 'x' } } } },
      ]);
      expect(messages).toEqual([
        'schemas/contact.json: $.part.whole.zip: expected string, found 1; $.part.whole.part.id: expected integer, found "x"',
      ]);
    },
  );

  test('takes cells of a table as the types that it expects', async () => {
    const contact = schema({ properties: { age: { type: 'integer' }, active: { type: 'boolean' } } });
    const flow = flowOf('\n    schema: contact.json\n');
    const place = await workplace({ 'flow.yaml': flow, 'contact.json': contact, 'rows.csv': 'age,active\n17,true\nx,false\n1.5,no\n' });
    expect((await place.automate(run)).code).toBe(4);
    expect(await place.read('out.csv')).toBe('age,active\n17,true\n');
  });

  test('takes a record of a test as a row of a table if its fields are all strings', async () => {
    const flow = flowOf('\n    schema: contact.json\n');
    const contact = schema({ properties: { age: { type: 'integer' } } });
    const test = (record: string, result: string) => `  - { name: '${record}', record: ${record}, ${result} }\n`;
    const tests = [
      test('{ age: "17" }', 'rows: [{ age: "17" }]'),
      test('{ age: "x" }', 'fails: { class: check }'),
      test('{ age: "17", tags: [new] }', 'fails: { class: check }'),
    ];
    const files = { 'flow.yaml': flow, 'contact.json': contact, 'flow.test.yaml': `flow: flow.yaml\ntests:\n${tests.join('')}` };
    const { code, stdout } = await (await workplace(files)).automate(['test', '.']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('3 passed, 0 failed')]);
  });

  test.each([
    ['{', 'contact.json is not a usable JSON Schema: it is not JSON: '],
    ['yes\nno', `it is not JSON: Unexpected token 'y', "yes no" is not valid JSON\n  3 |`],
    ['[]', 'expected a JSON object'],
    ['{"type":"text"}', 'contact.json is not a usable JSON Schema: $.type: expected one of "array", "boolean", '],
    ['{"properties":{"id":{"minimum":"1"}}}', '$.properties.id.minimum: expected number, found "1"'],
    ['{"$ref":"text.json"}', 'text.json is not a usable JSON Schema: it is not JSON: '],
    ['{"$ref":"type.json#/$defs/a"}', 'type.json is not a usable JSON Schema: $["$defs"].a.required: expected array, found "id"'],
    [
      '{"$schema":"http://json-schema.org/draft-04/schema#"}',
      '$schema: expected draft 7 or 2020-12, found http://json-schema.org/draft-04/schema#',
    ],
    ['{"$ref":"https://example.com/a.json"}', 'there is no schema at https://example.com/a.json'],
    ['{"$ref":"#/$defs/x"}', 'there is no schema at #/$defs/x'],
    ['{"$ref":"other.json"}', 'the file other.json cannot be read: there is no such file'],
    ['{"$ref":"anchors.json"}', 'anchors.json is not a usable JSON Schema: reference '],
    ['{"$id":"urn:example:a","$ref":"type.json"}', 'contact.json is not a usable JSON Schema: '],
  ])('is a problem of the flow if the file is %s', async (text, message) => {
    const flow = flowOf('\n    schema: contact.json\n');
    const beside = {
      'text.json': 'id: integer',
      'type.json': '{"$defs":{"a":{"required":"id"}}}',
      'anchors.json': '{"$defs":{"a":{"$anchor":"x","type":"string"},"b":{"$anchor":"x"}}}',
    };
    const place = await workplace({ 'flow.yaml': flow, 'contact.json': text, 'rows.csv': contacts, ...beside });
    const { code, stderr } = await place.automate(run);
    expect([code, stderr]).toEqual([3, expect.stringContaining(message)]);
    expect(stderr).toContain('flow.yaml:3:13: ');
    expect(stderr).toContain('\n1 problem in flow.yaml');
  });

  test.each([
    ['../outside.json', '../outside.json'],
    ['%2e%2e/outside.json#/$defs/a', '%2e%2e/outside.json'],
    ['..\\\\outside.json', '..\\outside.json'],
    ['parts/../../outside.json', 'parts/../../outside.json'],
    ['parts/inner.json', '../../outside.json', 'schemas/parts/inner.json'],
    ['/etc/outside.json', '/etc/outside.json'],
  ])('cannot refer to a file that is not in its folder: %s', async (reference, shown, file = 'schemas/contact.json') => {
    const place = await workplace({
      'flow.yaml': `nodes:
  - type: check
    schema: schemas/contact.json
  - { type: http, url: "https://api.example.com/", map: [a], answer_schema: schemas/contact.json }
`,
      'outside.json': '{"$defs":{"a":{}}}',
      'rows.csv': contacts,
    });
    await mkdir(place.path('schemas/parts'), { recursive: true });
    await place.write('schemas/contact.json', `{"properties":{"id":{"$ref":"${reference}"}}}`);
    await place.write('schemas/parts/inner.json', '{"$ref":"../../outside.json"}');
    const { code, stderr } = await place.automate(run);
    const message = `${file} is not a usable JSON Schema: the reference ${shown} leads out of its folder\n`;
    expect([code, stderr]).toEqual([3, expect.stringContaining(`flow.yaml:3:13: ${message}`)]);
    expect(stderr).toContain('\n  expected a part of the file (#/$defs/name) or a file beside it\n');
    expect(stderr).toMatch(/flow\.yaml:4:\d+: schemas\/.*json is not a usable/);
    await expect(place.read('out.csv')).rejects.toThrow('ENOENT');
  });

  test('belongs to the flow for --resume, --update and retry', async () => {
    const files = {
      'flow.yaml': flowOf('\n    schema: contact.json\n'),
      'contact.json': schema({ required: ['x'] }),
      'rows.csv': contacts,
    };
    const place = await workplace(files);
    expect((await place.automate([...run, '--update'])).code).toBe(4);
    await place.write('contact.json', schema({ required: ['email'] }));
    expect(await place.automate([...run, '--update'])).toMatchObject({
      code: 73,
      stderr: expect.stringContaining('the file contact.json has changed'),
    });
    expect(await place.automate(['retry', 'out.csv'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('has changed since out.csv was written'),
    });
  });
});

describe('answer_schema', () => {
  const request = (origin: string, more = '') =>
    `nodes:\n  - { type: http, url: "${origin}/{{id}}", map: { name: user.name }, answer_schema: answer.json, retry: { max: 0 }${more} }\n`;
  const answer = schema({ required: ['user'], properties: { user: schemaOfUser() } });
  function schemaOfUser() {
    return { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  }

  test('fails the records whose answers do not fit, after the rules of the node', async () => {
    const bodies: Record<string, object> = {
      '/1': { user: { name: 'Ann' } },
      '/2': { user: { name: 7 } },
      '/3': { user: {} },
      '/4': { error: 'no such user' },
    };
    const server = await answeringServer(({ path }) => ({ body: bodies[path] as object }));
    const flow = request(server.origin, ', fail_when: has(body.error), error_message: error');
    const place = await workplace({ 'flow.yaml': flow, 'answer.json': answer, 'rows.csv': 'id\n1\n2\n3\n4\n' });
    expect((await place.automate(run)).code).toBe(4);
    expect(await place.read('out.csv')).toBe('id,name\n1,Ann\n');
    const errors = await place.read('out.errors.csv');
    expect(errors).toContain('answer,200,"the answer does not fit answer.json: $.user.name: expected string, found 7"');
    expect(errors).toContain('answer,200,the answer does not fit answer.json: $.user.name: is missing');
    expect(errors).toContain('answer,200,no such user');
  });
});
