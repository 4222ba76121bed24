import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { readAllFiles, type Workplace, workplace } from '../helpers/cli.ts';
import { httpServer, json } from '../helpers/http-server.ts';

const pet = { $ref: '#/components/schemas/Pet' };
const petAnswer = { $ref: '#/components/responses/Pet' };

/** An OpenAPI description with references, `allOf`, a recursive schema, and most kinds of security schemes. */
function pets(origin: string) {
  const operation = (more: object) => ({ responses: { 200: petAnswer }, ...more });
  return {
    openapi: '3.0.3',
    info: { title: 'Pets', version: '1' },
    servers: [{ url: `${origin}/{version}/`, variables: { version: { default: 'v2' } } }],
    security: [{ key: [] }],
    paths: {
      '/pets/{pet-id}': {
        parameters: [{ name: 'pet-id', in: 'path', required: true, schema: { type: 'integer' } }],
        get: operation({
          operationId: 'getPet',
          summary: ' Find a pet: by its id ',
          parameters: [
            { name: 'verbose', in: 'query', schema: { type: 'boolean' } },
            { $ref: '#/components/parameters/Lang' },
            { name: 'api version', in: 'query', required: true, schema: { type: 'string', enum: ['2026/01'] } },
            { name: 'X-Tenant', in: 'header', required: true, schema: { type: 'string' } },
          ],
        }),
        put: operation({ operationId: 'updatePet', requestBody: { content: { 'application/json': { schema: pet } } } }),
      },
      '/pets': {
        get: {
          security: [],
          responses: {
            200: { content: { 'application/json': { schema: { properties: { total: {}, data: { type: 'array', items: pet } } } } } },
          },
        },
        post: operation({
          operationId: 'addPet',
          security: [{ key: [], secondKey: [] }],
          requestBody: {
            content: {
              'application/x-www-form-urlencoded': {
                schema: { properties: { name: { type: 'string' }, n: { type: 'integer' }, in: { type: 'integer' } } },
              },
            },
          },
        }),
      },
      '/notes': {
        put: {
          operationId: 'note',
          security: [{ digest: [] }, { basic: [] }],
          requestBody: { content: { 'text/plain': { example: 'hi' } } },
        },
        patch: { operationId: 'photo', requestBody: { required: true, content: { 'multipart/form-data': {} } } },
        get: { operationId: 'remote', responses: { 200: { $ref: 'https://127.0.0.1:1/other.yaml#/x' } } },
        delete: { operationId: 'nowhere', responses: { 200: { $ref: '#/components/none' } } },
        post: { operationId: 'outside', requestBody: { $ref: '../secrets.yaml' } },
      },
      '/orders': {
        get: {
          operationId: 'orders',
          security: [{ client: ['read'] }],
          responses: { 200: { content: { 'application/json': { schema: { type: 'array', items: pet } } } } },
        },
        post: { operationId: 'order', security: [{ login: [] }, {}] },
      },
    },
    components: {
      parameters: { Lang: { name: 'lang', in: 'query', required: true, schema: { type: 'string' } } },
      responses: { Pet: { content: { 'application/json': { schema: pet } } } },
      securitySchemes: {
        key: { type: 'apiKey', in: 'header', name: 'X-Key' },
        secondKey: { type: 'apiKey', in: 'query', name: 'k' },
        basic: { type: 'http', scheme: 'basic' },
        digest: { type: 'http', scheme: 'digest' },
        client: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/token' } } },
        login: { type: 'oauth2', flows: { authorizationCode: {} } },
      },
      schemas: {
        Base: { type: 'object', properties: { id: { type: 'integer', readOnly: true }, name: { type: 'string', example: 'Rex' } } },
        Pet: {
          allOf: [
            { $ref: '#/components/schemas/Base' },
            {
              properties: {
                age: { type: 'integer', example: 3 },
                weight: { type: 'number', example: 1.5 },
                born: { type: 'string', format: 'date' },
                category: { $ref: '#/components/schemas/Category' },
                tags: { type: 'array', items: { type: 'string' } },
                password: { type: 'string', writeOnly: true, example: 'CANARY12345' },
              },
            },
          ],
        },
        Category: {
          type: 'object',
          required: ['name'],
          properties: {
            color: { type: 'string', writeOnly: true },
            name: { type: 'string' },
            parent: { $ref: '#/components/schemas/Category' },
          },
        },
      },
    },
  };
}

const server = 'https://api.pets.example';

async function withPets(files: Record<string, string> = {}, origin = server): Promise<Workplace> {
  return workplace({ 'pets.yaml': stringify(pets(origin)), ...files });
}

async function nodeFor(operation: string, rows?: string) {
  const place = await withPets(rows === undefined ? {} : { 'rows.csv': rows });
  const more = rows === undefined ? [] : ['--in', 'rows.csv'];
  const { code, stderr } = await place.automate(['init', '--from-openapi', 'pets.yaml', '--operation', operation, ...more]);
  expect([code, stderr]).toEqual([0, expect.stringContaining('wrote flow.yaml')]);
  const text = await place.read('flow.yaml');
  const nodes = parse(text).nodes;
  expect((await place.automate(['validate', 'flow.yaml', '--allow-http'])).stderr).not.toMatch(
    /flow\.yaml:\d+:\d+: (?!there is no credential)/,
  );
  return { place, stderr, text, nodes, node: nodes.at(-1) };
}

const map = { id: 'id', name: 'name', age: 'age', weight: 'weight', born: 'born', category_name: 'category.name' };

describe('automate init --from-openapi', () => {
  test('turns parameters into fields, a security scheme into a credential, and the response schema into a map', async () => {
    const { node, text, stderr } = await nodeFor('getPet');
    expect(node).toEqual({
      type: 'http',
      url: `${server}/v2/pets/{{pet_id}}?lang={{lang}}&api%20version=2026%2F01`,
      auth: { type: 'api_key', header: 'X-Key', credential: 'pets-key' },
      headers: { 'X-Tenant': '{{X_Tenant}}' },
      map,
    });
    expect(text).toContain('# optional query parameters: verbose\n');
    expect(stderr).toContain('security scheme "key": store the key as the credential pets-key\n');
    expect(stderr).toContain('\n  automate credentials set pets-key\n');
  });

  test("uses the operation's summary as the description of the flow", async () => {
    expect(parse((await nodeFor('getPet')).text).description).toBe('Find a pet: by its id');
    const { text } = await nodeFor('updatePet');
    expect(parse(text)).not.toHaveProperty('description');
    expect(text).toContain('# description: what this flow does, for people and for AI agents\n');
  });

  test('names fields after the columns of the input, and uses their types', async () => {
    const { text, node, stderr } = await nodeFor('updatePet', 'Pet-ID,age,weight,name,category name\n7,4,2.5,Tom,cat\n');
    expect(text).toContain('columns:\n  pet_id: Pet-ID\n  category_name: category name\n');
    expect(node.url).toBe(`${server}/v2/pets/{{pet_id}}`);
    expect(node.body).toEqual({
      name: '{{name}}',
      age: { cel: 'int(age)' },
      weight: { cel: 'double(weight)' },
      born: '2026-01-31',
      category: { name: '{{category_name}}' },
      tags: ['string'],
      password: { credential: 'pets-password' },
    });
    expect(node.map).toMatchObject({ id: 'id', name_2: 'name', age_2: 'age' });
    expect(stderr).not.toContain('CANARY');
  });

  test('expands a response that is a list or contains a list', async () => {
    const { node } = await nodeFor('GET /pets');
    expect([node.auth, node.map.id, node.map.category_name]).toEqual([undefined, 'data[].id', 'data[].category.name']);
    expect((await nodeFor('orders')).node).toMatchObject({
      auth: {
        type: 'oauth2_client_credentials',
        token_url: `${server}/token`,
        client_id: 'my-client-id',
        scopes: ['read'],
        credential: 'pets-client',
      },
      map: { id: '$body[].id' },
    });
  });

  test('supports a form, a text body, and a choice of two security schemes', async () => {
    const two = [
      { type: 'api_key', header: 'X-Key', credential: 'pets-key' },
      { type: 'api_key', query: 'k', credential: 'pets-second-key' },
    ];
    expect((await nodeFor('addPet', 'n,in\n1,2\n')).node).toMatchObject({
      form: { name: 'string', n: { cel: 'int(n)' }, in: '{{in}}' },
      auth: two,
    });
    expect((await nodeFor('note')).node).toMatchObject({ text: 'hi', auth: { type: 'digest', credential: 'pets-digest' } });
    expect((await nodeFor('order')).node.auth).toEqual({ type: 'bearer', credential: 'pets-login' });
  });

  test('marks every example value that a request would send, and lists these values on stderr', async () => {
    const { text, stderr } = await nodeFor('updatePet', 'Pet-ID,age,category name\n7,4,cat\n');
    const marked = text.split('\n').filter((line) => line.endsWith('  # an example: put {{field}} here') || line.includes(' # an example'));
    expect(marked.map((line) => line.trim())).toEqual([
      'name: Rex # an example: put {{field}} here',
      'weight: 1.5 # an example: put {{field}} here',
      'born: 2026-01-31 # an example: put {{field}} here',
      '- string # an example: put {{field}} here',
    ]);
    const named = 'body.name, body.weight, body.born, body.tags[0]';
    expect(stderr).toContain(`  examples, which every request would send: ${named}; replace each with {{field}}\n`);
  });

  test('does not mark an example value that is the only valid value', async () => {
    expect((await nodeFor('addPet', 'n\n1\n')).text).toMatch(/\n {6}name: string # an example: put \{\{field\}\} here\n {6}n:\n/);
    expect((await nodeFor('note')).text).toContain('text: hi # an example: put {{field}} here\n');
    const { text, stderr } = await nodeFor('getPet');
    expect([text, stderr]).toEqual([expect.not.stringContaining('an example'), expect.not.stringContaining('examples')]);
    const schema = { properties: { kind: { const: 'pet' }, only: { enum: [1] }, one: { enum: ['a', 'b'] }, n: { default: null } } };
    const paths = { '/x': { post: { requestBody: { content: { 'application/json': { schema } } } } } };
    const place = await workplace({ 'api.json': JSON.stringify({ openapi: '3.1.0', paths }) });
    await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'post /x']);
    const body = ['kind: pet', 'only: 1', 'one: a # an example: put {{field}} here', 'n: null # an example: put {{field}} here'];
    expect(await place.read('flow.yaml')).toContain(`    body:\n${body.map((line) => `      ${line}\n`).join('')}`);
  });

  test('names a credential after its security scheme, with the same name in every operation', async () => {
    const securitySchemes = Object.fromEntries(
      ['api_key', 'petstore_auth', 'apiKey', '鍵'].map((name, index) => [name, { type: 'apiKey', in: 'header', name: `X-${index}` }]),
    );
    const operation = (name: string) => ({ get: { operationId: name, security: [{ [name]: [] }] } });
    const paths = Object.fromEntries(Object.keys(securitySchemes).map((name) => [`/${name}`, operation(name)]));
    const document = { openapi: '3.0.3', servers: [{ url: 'https://petstore3.swagger.io/api' }], paths, components: { securitySchemes } };
    const place = await workplace({ 'api.json': JSON.stringify(document) });
    const names = [];
    for (const name of Object.keys(securitySchemes)) {
      await place.automate(['init', '--from-openapi', 'api.json', '--operation', name, '--force']);
      names.push(parse(await place.read('flow.yaml')).nodes[0].auth.credential);
    }
    expect(names).toEqual(['swagger-api-key', 'swagger-petstore-auth', 'swagger-api-key-2', 'swagger-secret']);
  });

  test('reports a column that the input does not have', async () => {
    const { stderr } = await nodeFor('getPet', 'number\n1\n');
    expect(stderr).toContain('rows.csv has no column "pet_id": rename a column to it, or replace {{pet_id}} with another field\n');
  });

  test('does not map a response value to a field that the request uses', async () => {
    const content = { 'application/json': { schema: { properties: { id: { type: 'integer' }, name: { type: 'string' } } } } };
    const parameters = [{ name: 'id', in: 'path', required: true }];
    const paths = { '/pets/{id}': { get: { parameters, responses: { 200: { content } } } } };
    const place = await workplace({ 'api.json': JSON.stringify({ openapi: '3.0.3', servers: [{ url: 'https://a.example' }], paths }) });
    await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'get /pets/{id}']);
    const [node] = parse(await place.read('flow.yaml')).nodes;
    expect(node).toMatchObject({ url: 'https://a.example/pets/{{id}}', map: { id_2: 'id', name: 'name' } });
  });

  test('reads OpenAPI 3.1 in JSON, and types that can be null', async () => {
    const schema = {
      type: ['null', 'object'],
      properties: { 'odd key': { type: ['string', 'null'] }, n: { oneOf: [{ type: 'null' }, { type: 'integer' }] } },
    };
    const content = { 'application/problem+json': { schema } };
    const paths = { '/x': { post: { requestBody: { content }, responses: { '2XX': { content } } } } };
    const place = await workplace({ 'api.json': JSON.stringify({ openapi: '3.1.1', paths }) });
    const { stderr } = await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'post /x']);
    expect(stderr).toContain("api.json contains no host: replace api.example.com with the API's");
    expect(parse(await place.read('flow.yaml')).nodes).toEqual([
      {
        type: 'http',
        method: 'POST',
        url: 'https://api.example.com/x',
        headers: { 'Content-Type': 'application/problem+json' },
        body: { 'odd key': 'string', n: 1 },
        map: { n: 'n', odd_key: '["odd key"]' },
      },
    ]);
  });

  test('writes a flow that works with a server of that API', async () => {
    const api = await httpServer((request, response) =>
      json(response, { ...JSON.parse(request.body), id: Number(request.path.split('/').at(-1)), category: { name: 'cat' } }),
    );
    const place = await withPets({ 'rows.csv': 'pet-id,age\n7,4\n8,5\n' }, api.origin);
    await place.automate(['init', '--from-openapi', 'pets.yaml', '--operation', 'updatePet', '--in', 'rows.csv']);
    const env = { AUTOMATE_CREDENTIAL_MY_KEY: 'CANARY-1', AUTOMATE_CREDENTIAL_MY_PASSWORD: 'CANARY-2' };
    expect((await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv'], { env })).code).toBe(0);
    const { code, stdout } = await place.automate(['run', 'flow.yaml', '--in', 'rows.csv'], { env });
    const header = 'pet-id,age,id,name,age_2,weight,born,category_name';
    const rows = ['7,4,7,Rex,4,1.5,2026-01-31,cat', '8,5,8,Rex,5,1.5,2026-01-31,cat'];
    expect([code, stdout]).toEqual([0, `${[header, ...rows].join('\n')}\n`]);
    expect(
      api.requests.map(({ path, headers, body }) => [path, headers['x-key'], JSON.parse(body).age, JSON.parse(body).password]),
    ).toEqual([
      ['/v2/pets/7', 'CANARY-1', 4, 'CANARY-2'],
      ['/v2/pets/8', 'CANARY-1', 5, 'CANARY-2'],
    ]);
  });

  test('lists all operations if --operation is missing, and suggests one if it is misspelt', async () => {
    const place = await withPets();
    const { code, stderr } = await place.automate(['init', '--from-openapi', 'pets.yaml']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--operation: expected the id of an operation in pets.yaml\n')]);
    expect(stderr).toContain('\n    getPet  GET /pets/{pet-id}\n');
    expect(stderr).toContain('\n    GET /pets\n');
    const wrong = await place.automate(['init', '--from-openapi', 'pets.yaml', '--operation', 'getPat']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('pets.yaml has no operation "getPat"; did you mean "getPet"?')]);
  });

  test('lists at most 200 operations, and lists those that contain a text', async () => {
    const paths = Object.fromEntries(
      Array.from({ length: 1223 }, (_, index) => [
        `/things/${index}`,
        { get: { operationId: `get${index}`, summary: index % 500 === 7 ? 'Sends an  Invoice' : 'Reads' } },
      ]),
    );
    const place = await workplace({ 'api.json': JSON.stringify({ openapi: '3.0.0', paths }) });
    const init = (...words: string[]) => place.automate(['init', '--from-openapi', 'api.json', ...words]);
    const all = await init();
    expect([all.code, all.stderr]).toEqual([
      2,
      expect.stringContaining('and 1,023 more; give a part of an id, path or summary instead, and only those that contain it are listed\n'),
    ]);
    const found = await init('--operation', 'an invoice');
    expect(found).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('api.json has no operation "an invoice", but 3 operations with'),
    });
    expect(found.stderr.match(/get\d+/g)).toEqual(['get7', 'get507', 'get1007']);
    expect((await init('--operation', 'THINGS/12')).stderr.match(/get12\d*/g)).toHaveLength(1 + 10 + 24 - 1);
    expect(await place.files()).toEqual(['api.json']);
  });

  test('says that the map has only some of the values', async () => {
    const properties = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`v${index}`, { type: 'string' }]));
    const schema = { type: 'object', properties };
    const get = { operationId: 'x', responses: { 200: { description: 'ok', content: { 'application/json': { schema } } } } };
    const place = await workplace({ 'api.json': JSON.stringify({ openapi: '3.0.0', paths: { '/x': { get } } }) });
    const { code, stderr } = await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'x']);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining("the map has 12 of the answer's 14 values; add others by hand, or let automate test-request write them\n"),
    ]);
    expect(await place.read('flow.yaml')).not.toContain('v12');
  });

  test.each([
    ['remote', 6, 'the reference "https://127.0.0.1:1/other.yaml#/x" points outside the file'],
    ['outside', 6, 'the reference "../secrets.yaml" points outside the file'],
    ['nowhere', 6, 'the reference "#/components/none" points to nothing'],
    ['photo', 2, 'takes a body of multipart/form-data, which a flow cannot send'],
  ])('refuses the operation %s', async (operation, exit, message) => {
    const place = await withPets();
    const { code, stderr } = await place.automate(['init', '--from-openapi', 'pets.yaml', '--operation', operation]);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
    expect(await place.files()).toEqual(['pets.yaml']);
  });

  test.each([
    [
      'swagger: "2.0"\n',
      6,
      'api.yaml: expected OpenAPI 3.0 or 3.1, found Swagger 2.0\n  convert it on your computer first: npx swagger2openapi api.yaml -o openapi.json',
    ],
    ['openapi: 4.0.0\n', 6, 'found OpenAPI 4.0.0'],
    ['a: 1\n', 6, 'expected OpenAPI 3.0 or 3.1, found no "openapi" at its top'],
    ['openapi: 3.0.0\npaths:\n  - x: [1\n', 6, 'api.yaml:4:1: not valid YAML or JSON: '],
    ['{"openapi": "3.0.0",\n "paths": {]}', 6, 'api.yaml:2:12: not valid YAML or JSON: '],
    ['openapi: 3.0.0\npaths: [1, { get: 2 }]\n', 6, 'api.yaml: no operation with method GET'],
  ])('refuses the file %j', async (text, exit, message) => {
    const place = await workplace({ 'api.yaml': text });
    const { code, stderr } = await place.automate(['init', '--from-openapi', 'api.yaml', '--operation', 'x']);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
    expect(await place.files()).toEqual(['api.yaml']);
  });

  test.each([
    [['--from-openapi', 'none.yaml'], 6, 'none.yaml cannot be read: there is no such file'],
    [['--from-openapi', 'pets.yaml', '--from-curl', 'curl x'], 2, 'expected --from-curl or --from-openapi, found both'],
    [['--operation', 'getPet'], 2, '--operation works only with --from-openapi FILE'],
  ])('refuses the arguments %j', async (options, exit, message) => {
    const place = await withPets();
    const { code, stderr } = await place.automate(['init', ...options]);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
  });

  test('never writes a secret that the OpenAPI file contains', async () => {
    const place = await workplace({ 'api.yaml': '' });
    const body = { example: { password: 'CANARY1', nested: { api_key: 'CANARY2' }, token: 'CANARY3' } };
    const paths = { '/x': { post: { operationId: 'x', requestBody: { content: { 'application/json': body } } } } };
    await place.write('api.yaml', stringify({ openapi: '3.0.0', servers: [{ url: 'https://u:CANARY4@a.example' }], paths }));
    const { code, stdout, stderr } = await place.automate(['init', 'new', '--from-openapi', 'api.yaml', '--operation', 'x']);
    expect([code, stdout + stderr + (await place.read('new/flow.yaml'))]).toEqual([0, expect.not.stringContaining('CANARY')]);
    await place.write('api.yaml', '');
    expect(await readAllFiles(place)).not.toContain('CANARY');
  });
});

describe('the first test that init --from-openapi writes', () => {
  const properties = { id: { type: 'integer', example: 10, readOnly: true }, name: { type: 'string', example: 'doggie' } };
  const schema = { type: 'object', properties };
  const parameters = [{ name: 'petId', in: 'path', required: true, example: 7, schema: { type: 'integer' } }];

  /** Runs init for an API whose only response has this media type. */
  async function init(media: object, ...options: string[]) {
    const responses = { 200: { content: { 'application/json': media } } };
    const api = {
      openapi: '3.0.3',
      servers: [{ url: 'https://pets.example.com' }],
      paths: { '/pets/{petId}': { get: { parameters, responses } } },
    };
    const place = await workplace({ 'api.json': JSON.stringify(api), 'rows.csv': 'pet_id,x\n3,y\n' });
    const { code, stderr } = await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'get /pets/{petId}', ...options]);
    expect(code).toBe(0);
    return { place, stderr };
  }

  test.each([
    ['that is derived from its schema', { schema }, { id: 10, name: 'doggie' }],
    ['that the response contains', { schema, example: { id: 1, name: 'Rex' } }, { id: 1, name: 'Rex' }],
    ['that the response contains under a name', { schema, examples: { rex: { value: { id: 1, name: 'Rex' } } } }, { id: 1, name: 'Rex' }],
  ])('contains the example response %s, and passes', async (_, media, body) => {
    const { place, stderr } = await init(media);
    expect(stderr).toContain('wrote flow.test.yaml, a first test: automate test flow.test.yaml\n');
    expect(parse(await place.read('flow.test.yaml'))).toEqual({
      flow: 'flow.yaml',
      tests: [
        {
          name: 'the example of the API',
          record: { petId: '7' },
          answers: [{ request: 'GET https://pets.example.com/pets/7', body }],
          rows: [body],
        },
      ],
    });
    expect((await place.automate(['test'])).code).toBe(0);
  });

  test('uses the first record of the input', async () => {
    const { place } = await init({ schema }, '--in', 'rows.csv');
    expect(parse(await place.read('flow.test.yaml')).tests[0].record).toEqual({ pet_id: '3', x: 'y' });
    expect((await place.automate(['test'])).code).toBe(0);
  });

  test('is not written without an example response, and never overwrites an existing file', async () => {
    const { place, stderr } = await init({ schema: { type: 'object', properties: { id: { type: 'integer' } } } });
    expect([await place.files(), stderr]).toEqual([['api.json', 'flow.yaml', 'rows.csv'], expect.not.stringContaining('test.yaml')]);
    const { place: other } = await init({ schema });
    await other.write('flow.test.yaml', '# mine');
    const args = ['init', '--from-openapi', 'api.json', '--operation', 'get /pets/{petId}', 'sub'];
    await other.automate(args);
    expect(await other.read('flow.test.yaml')).toBe('# mine');
    expect(await other.read('sub/flow.test.yaml')).toContain('the example of the API');
    await other.write('sub/flow.test.yaml', '# mine');
    expect((await other.automate([...args, '--force'])).stderr).toContain('sub/flow.test.yaml already exists, so it is not changed\n');
    expect(await other.read('sub/flow.test.yaml')).toBe('# mine');
  });
});

/** Returns the description of an API that lists items in pages. `schema`: the answer's members next to its list. */
function listApi(origin: string, { query = [], schema = {}, headers }: Pick<PagedApi, 'query' | 'schema' | 'headers'>, isBare = false) {
  const items = { type: 'array', items: { type: 'object', properties: { id: { type: 'integer', example: 7 } } } };
  const answer = isBare ? items : { type: 'object', properties: { data: items, ...schema } };
  const parameters = query.map(({ name, required = false, ...schema }) => ({ name, in: 'query', required, schema }));
  const ok = { ...(headers && { headers }), content: { 'application/json': { schema: answer } } };
  return {
    openapi: '3.0.3',
    servers: [{ url: origin }],
    paths: { '/items': { get: { operationId: 'list', parameters, responses: { 200: ok } } } },
  };
}

interface PagedApi {
  readonly query?: readonly { readonly name: string; readonly required?: boolean; readonly [keyword: string]: unknown }[];
  readonly schema?: object;
  readonly headers?: object;
  /** Returns the number of the first item of a page, from its query. */
  from(query: URLSearchParams): number;
  /** Returns the members of the answer next to its list. */
  more?(from: number, origin: string): object;
  readonly paginate: string;
}

const text = { type: 'string' };
const whole = { type: 'integer' };
const limit = { name: 'limit', ...whole, maximum: 2 };

describe('the paging that an OpenAPI file describes', () => {
  const apis: [name: string, api: PagedApi][] = [
    [
      'a page, which is required',
      {
        query: [
          { name: 'page', required: true, ...whole },
          { name: 'per_page', ...whole },
        ],
        from: (query) => Number(query.get('page')) * 2 - 2,
        paginate: 'type: page, param: page, items: data',
      },
    ],
    [
      'a page that begins with 0, and a flag',
      {
        query: [
          { name: 'pageNumber', minimum: 0, ...whole },
          { name: 'pageSize', ...whole },
        ],
        schema: { meta: { type: 'object', properties: { hasMore: { type: 'boolean' } } } },
        from: (query) => Number(query.get('pageNumber')) * 2,
        more: (from) => ({ meta: { hasMore: from < 4 } }),
        paginate: 'type: page, param: pageNumber, start: 0, items: data, until: body.meta.hasMore == false',
      },
    ],
    [
      'an offset',
      {
        query: [{ name: 'offset', ...whole }, limit],
        from: (query) => Number(query.get('offset')),
        paginate: 'type: offset, param: offset, size: 2, items: data',
      },
    ],
    [
      'a skip, whose limit is required and has a default',
      {
        query: [
          { name: 'skip', required: true, ...whole },
          { name: 'take', required: true, default: 2, ...whole },
        ],
        from: (query) => Number(query.get('skip')),
        paginate: 'type: offset, param: skip, size: 2, items: data',
      },
    ],
    [
      'a cursor',
      {
        query: [{ name: 'cursor', ...text }, limit],
        schema: { meta: { type: 'object', properties: { cursor: text, next_cursor: { type: 'string', nullable: true } } } },
        from: (query) => Number(query.get('cursor')),
        more: (from) => ({ meta: { cursor: `${from}`, next_cursor: from < 4 ? `${from + 2}` : null } }),
        paginate: 'type: cursor, path: meta.next_cursor, param: cursor',
      },
    ],
    [
      'a page token',
      {
        query: [
          { name: 'pageToken', ...text },
          { name: 'pageSize', ...whole },
        ],
        schema: { nextPageToken: text },
        from: (query) => Number(query.get('pageToken')),
        more: (from) => ({ nextPageToken: from < 4 ? `${from + 2}` : '' }),
        paginate: 'type: cursor, path: nextPageToken, param: pageToken',
      },
    ],
    [
      'a cursor that is the id of the last item',
      {
        query: [
          { name: 'starting_after', ...text },
          { name: 'limit', ...whole },
        ],
        schema: { has_more: { type: 'boolean' } },
        from: (query) => Number(query.get('starting_after') ?? -1) + 1,
        more: (from) => ({ has_more: from < 4 }),
        paginate: 'type: cursor, path: id, param: starting_after, from: last_item, items: data, until: body.has_more == false',
      },
    ],
    [
      'the URL of the next page',
      {
        query: [
          { name: 'limit', ...whole },
          { name: 'offset', ...whole },
        ],
        schema: { count: whole, next: { type: 'string', format: 'uri', nullable: true }, previous: { type: 'string', format: 'uri' } },
        from: (query) => Number(query.get('offset')),
        more: (from, origin) => ({ count: 6, next: from < 4 ? `${origin}/items?offset=${from + 2}` : null }),
        paginate: 'type: next_url, path: next',
      },
    ],
  ];

  test.each(apis)('becomes paginate, which reads all pages: %s', async (_, api) => {
    const server = await httpServer(({ path }, response) => {
      const from = api.from(new URL(path, 'http://127.0.0.1').searchParams);
      json(response, { data: from < 6 ? [{ id: from }, { id: from + 1 }] : [], ...api.more?.(from, server.origin) });
    });
    const place = await workplace({ 'api.json': JSON.stringify(listApi(server.origin, api)) });
    const { code, stderr } = await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'list']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('\n  it reads all pages of the list (type: ')]);
    const [node] = parse(await place.read('flow.yaml')).nodes;
    expect(node.paginate).toEqual(parse(`{ ${api.paginate} }`));
    expect((await place.automate(['run', 'flow.yaml', '--no-input', '--out', 'out.csv'])).stderr).not.toContain('warning');
    expect(await place.read('out.csv')).toBe('id\n0\n1\n2\n3\n4\n5\n');
    expect((await place.automate(['test'])).code).toBe(0);
  });

  test('becomes paginate for a Link header, which reads all pages', async () => {
    const server = await httpServer(({ path }, response) => {
      const from = Number(new URL(path, 'http://127.0.0.1').searchParams.get('page') ?? 1) * 2 - 2;
      if (from < 4) response.setHeader('link', `</items?page=${from / 2 + 2}>; rel="next"`);
      json(response, [{ id: from }, { id: from + 1 }]);
    });
    const api = listApi(server.origin, { query: [{ name: 'page', required: true, ...whole }], headers: { Link: { schema: text } } }, true);
    const place = await workplace({ 'api.json': JSON.stringify(api) });
    await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'list']);
    expect(parse(await place.read('flow.yaml')).nodes[0]).toMatchObject({
      url: `${server.origin}/items`,
      paginate: { type: 'link_header' },
    });
    const { stdout } = await place.automate(['run', 'flow.yaml', '--no-input', '--out-format', 'csv']);
    expect(stdout).toBe('id\n0\n1\n2\n3\n4\n5\n');
  });

  test.each<[string, Pick<PagedApi, 'query' | 'schema'>]>([
    ['there are no such parameters', { query: [{ name: 'q', ...text }] }],
    ['an offset has no limit, so that its step is not known', { query: [{ name: 'offset', ...whole }] }],
    [
      'a parameter with the name of a cursor is a date',
      { query: [{ name: 'after', type: 'string', format: 'date' }], schema: { next: text } },
    ],
    ['a cursor is missing from the answer', { query: [{ name: 'cursor', ...text }] }],
  ])('is not invented if %s', async (_, api) => {
    const place = await workplace({ 'api.json': JSON.stringify(listApi('https://api.example.com', api)) });
    expect((await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'list'])).stderr).not.toContain('pages');
    expect(parse(await place.read('flow.yaml')).nodes[0]).not.toHaveProperty('paginate');
  });
});

describe('the list in an answer that an OpenAPI file describes', () => {
  const object = (properties: object) => ({ type: 'object', properties });
  const list = { type: 'array', items: object({ id: whole, name: text }) };
  const names = (...all: string[]) => all.map((name) => ({ name, in: 'query', schema: /token|cursor|^q$/i.test(name) ? text : whole }));
  const link = { Link: { schema: text } };

  /** Runs init for a GET of the path, and returns the node. */
  async function nodeFor(path: string, properties: object, { parameters = [] as object[], headers = {}, method = 'get' } = {}) {
    const responses = { 200: { headers, content: { 'application/json': { schema: object(properties) } } } };
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text }));
    const operation = { operationId: 'get', parameters: [...inPath, ...parameters], responses };
    const api = { openapi: '3.0.3', servers: [{ url: 'https://api.example.com' }], paths: { [path]: { [method]: operation } } };
    const place = await workplace({ 'api.json': JSON.stringify(api) });
    expect((await place.automate(['init', '--from-openapi', 'api.json', '--operation', 'get'])).code).toBe(0);
    expect((await place.automate(['validate', 'flow.yaml'])).code).toBe(0);
    return parse(await place.read('flow.yaml')).nodes[0];
  }

  const offsetOf100 = (param: string, items: string) => ({ type: 'offset', param, size: 100, items });
  test.each<[path: string, answer: object, more: object, list: string, paginate: object | undefined]>([
    ['/customers', { customers: list }, { parameters: names('page', 'per_page') }, 'customers', { type: 'page', param: 'page' }],
    ['/orders', { total: whole, orders: list }, { parameters: names('offset', 'limit') }, 'orders', offsetOf100('offset', 'orders')],
    ['/orders', { orders: list }, { parameters: names('$skip', '$top') }, 'orders', offsetOf100('$skip', 'orders')],
    ['/orders', { orders: list }, { headers: link }, 'orders', { type: 'link_header' }],
    [
      '/drive/v3/files',
      { kind: text, nextPageToken: text, files: list, incompleteSearch: { type: 'boolean' } },
      { parameters: names('pageSize', 'pageToken') },
      'files',
      { type: 'cursor', path: 'nextPageToken', param: 'pageToken' },
    ],
    [
      '/rest/api/3/search/jql',
      { isLast: { type: 'boolean' }, nextPageToken: text, issues: list },
      { parameters: names('nextPageToken', 'maxResults') },
      'issues',
      { type: 'cursor', path: 'nextPageToken', param: 'nextPageToken' },
    ],
    [
      '/conversations.members',
      { ok: { type: 'boolean' }, members: { type: 'array', items: text }, response_metadata: object({ next_cursor: text }) },
      { parameters: names('cursor', 'limit') },
      'members',
      { type: 'cursor', path: 'response_metadata.next_cursor', param: 'cursor' },
    ],
    [
      '/rest/api/2/search',
      { startAt: whole, maxResults: whole, total: whole, issues: list, warnings: list },
      { parameters: names('startAt', 'maxResults') },
      'issues',
      offsetOf100('startAt', 'issues'),
    ],
    ['/users', { data: object({ users: list }) }, { parameters: names('page') }, 'data.users', { type: 'page', items: 'data.users' }],
    ['/people', { value: list, '@odata.nextLink': text }, {}, 'value', { type: 'next_url', path: '["@odata.nextLink"]' }],
    ['/people', { people: list, nextUrl: text }, {}, 'people', { type: 'next_url', path: 'nextUrl' }],
    ['/invoices', { invoices: list, _links: object({ next: object({ href: text }) }) }, {}, 'invoices', { path: '_links.next.href' }],
    [
      '/2/users/{id}/followers',
      { data: list, includes: object({ tweets: list }), meta: object({ next_token: text, result_count: whole }) },
      { parameters: names('pagination_token', 'max_results') },
      'data',
      { type: 'cursor', path: 'meta.next_token', param: 'pagination_token' },
    ],
    ['/teams/{team}/categories', { id: whole, name: text, category: list, users: list }, {}, 'category', undefined],
    ['/messages', { messages: list, errors: list }, {}, 'messages', undefined],
    ['/me/friends', { persons: list, total_count: whole }, {}, 'persons', undefined],
    ['/search/{q}', { hits: list, total: whole }, {}, 'hits', undefined],
    ['/users/{id}', { roles: list, name: text }, { parameters: names('page') }, 'roles', { type: 'page', items: 'roles' }],
  ])('of %s is found: %j', async (path, answer, more, found, paginate) => {
    const node = await nodeFor(path, answer, more);
    expect(Object.values(node.map as object).every((one: string) => one.startsWith(`${found}[]`))).toBe(true);
    expect(node.paginate).toEqual(paginate && expect.objectContaining(paginate));
  });

  test.each<[path: string, answer: object, more?: object]>([
    ['/users/{id}', { id: whole, name: text, roles: list }],
    ['/users/{id}', { name: text, users: list, items: list }],
    ['/users/{id}/', { name: text, roles: list, next_cursor: text }, { headers: {} }],
    ['/users/{id}.json', { user: object({ id: whole, roles: list }) }],
    ['/me', { id: whole, email: text, teams: list }],
    ['/cart', { currency: text, contents: object({ items: list }) }],
    ['/orders', { id: whole, items: list }, { method: 'post' }],
    ['/stats', { days: list, users: list }],
  ])('of %s is not invented: %j', async (path, answer, more) => {
    const { map = {}, paginate } = await nodeFor(path, answer, more);
    expect([JSON.stringify(map), paginate]).toEqual([expect.not.stringContaining('[]'), undefined]);
  });
});

describe('an OpenAPI file whose references multiply', () => {
  const operation = {
    get: { operationId: 'get', responses: { 200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } } } } },
  };
  const write = (schemas: Record<string, object>) =>
    workplace({
      'api.json': JSON.stringify({
        ...{ openapi: '3.0.3', info: { title: 'x', version: '1' }, servers: [{ url: 'https://api.example.com' }] },
        ...{ paths: { '/things': operation }, components: { schemas } },
      }),
    });
  const init = (place: Workplace) => place.automate(['init', '--from-openapi', 'api.json', '--operation', 'get']);
  const levels = (count: number, schema: (next: object) => object) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `S${index}`,
        index === count - 1 ? { type: 'string' } : schema({ $ref: `#/components/schemas/S${index + 1}` }),
      ]),
    );

  test.each([
    ['properties', (next: object) => ({ type: 'object', properties: { a: next, b: next, c: next } })],
    ['allOf', (next: object) => ({ allOf: [next, next, next] })],
    ['items and anyOf', (next: object) => ({ anyOf: [{ type: 'array', items: next }, next, next], properties: { a: next, b: next } })],
  ])('is read if they are in %s', async (_, schema) => {
    const place = await write(levels(25, schema));
    expect((await init(place)).code).toBe(0);
    expect(await place.read('flow.yaml')).toContain('https://api.example.com');
  });

  test('is refused if they have more than 100,000 parts', async () => {
    const names = Array.from({ length: 400 }, (_, index) => `p${index}`);
    const wide = (next: object) => ({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, next])) });
    const place = await write(levels(4, wide));
    const { code, stderr } = await init(place);
    expect([code, stderr]).toEqual([6, expect.stringContaining('have more than 100,000 parts once their references are expanded')]);
    expect(await place.files()).toEqual(['api.json']);
  });
});
