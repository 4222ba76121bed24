import { readdirSync } from 'node:fs';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readTestFile } from '../../src/flow-tests/test-file.ts';
import { parseXml } from '../../src/http/documents/xml.ts';
import { readAllFiles, workplace } from '../helpers/cli.ts';

const flow = `nodes:
  - type: http
    url: https://api.example.com/users/{{id}}
    auth: { type: bearer, credential: crm-token }
    map: { name: data.name }
`;

const passing = `flow: flow.yaml
tests:
  - name: a customer who exists
    record: { id: "17" }
    answers: [{ request: GET https://api.example.com/users/17, body: { data: { name: Ada } } }]
    rows: [{ name: Ada }]
  - name: an unknown customer fails
    record: { id: "99" }
    answers: [{ request: GET https://api.example.com/users/99, status: 404 }]
    fails: { status: 404 }
`;

const failing = passing.replace('rows: [{ name: Ada }]', 'rows: [{ name: Bob }]');

const ofUnknown = { file: 'flow.test.yaml', tests: [{ name: 'an unknown customer fails', passed: true, problems: [] }] };

test('automate test runs all tests below a folder, and prints how many passed', async () => {
  const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': passing });
  for (const folder of ['more', 'node_modules', '.hidden']) {
    await mkdir(place.path(folder));
    await place.write(`${folder}/a.test.yml`, passing.replace('flow: ', 'flow: ../'));
  }
  expect(await place.automate(['test'])).toEqual({
    code: 0,
    stdout: 'ok    flow.test.yaml: 2 tests\nok    more/a.test.yml: 2 tests\n4 passed, 0 failed\n',
    stderr: '',
  });
  expect((await place.automate(['test', 'more', './flow.test.yaml', 'flow.test.yaml', 'more/a.test.yml'])).stdout).toMatch(
    /\n4 passed, 0 failed\n$/,
  );
});

test('automate test without a path asks for one in a folder without a flow, whatever is below it', async () => {
  const place = await workplace({ 'compose.yaml': 'services: {}\n' });
  await mkdir(place.path('flows'));
  await place.write('flows/flow.yaml', flow);
  await place.write('flows/flow.test.yaml', passing);
  expect(await place.automate(['test'])).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^automate: the folder \/.* has no flow\n {2}write the folder or the file of the tests: automate test flows\n$/,
    ),
  });
  expect((await place.automate(['test', 'flows'])).code).toBe(0);
  await place.write('flow.yaml', flow);
  expect((await place.automate(['test'])).stdout).toBe('ok    flows/flow.test.yaml: 2 tests\n2 passed, 0 failed\n');
});

test('automate test shows the expected and the actual value if a test fails', async () => {
  const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': failing });
  expect(await place.automate(['test', 'flow.test.yaml'])).toEqual({
    code: 1,
    stdout: `FAIL  flow.test.yaml: 1 of 2 tests failed
  a customer who exists
    row: name: expected "Bob", found "Ada"
1 passed, 1 failed
`,
    stderr: '',
  });
});

test('automate test --json prints the results as JSON', async () => {
  const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': failing });
  const { code, stdout } = await place.automate(['test', '--json']);
  const problems = ['row: name: expected "Bob", found "Ada"'];
  const first = { name: 'a customer who exists', passed: false, problems };
  expect([code, JSON.parse(stdout)]).toEqual([1, { passed: 1, failed: 1, files: [{ ...ofUnknown, tests: [first, ...ofUnknown.tests] }] }]);
});

test('automate test --only runs the tests whose names contain its value', async () => {
  const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': failing });
  expect(JSON.parse((await place.automate(['test', '--json', '--only', 'Unknown'])).stdout)).toEqual({
    passed: 1,
    failed: 0,
    files: [ofUnknown],
  });
  const none = await place.automate(['test', '--only', 'nobody']);
  expect(none).toEqual({ code: 2, stdout: '', stderr: 'automate: no test has "nobody" in its name\n' });
});

test('automate test --junit writes valid XML, even if test names contain special characters', async () => {
  const odd = failing.replace('an unknown customer fails', '"odd <&\\"\\u0001\\u000b> \\ud83d\\ude00"');
  const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': odd });
  const { code, stdout } = await place.automate(['test', '--junit', 'report.xml']);
  expect([code, stdout]).toEqual([1, expect.stringContaining('1 passed, 1 failed')]);
  const text = await place.read('report.xml');
  for (const forbidden of ['\u0001', '\u000b']) expect(text).not.toContain(forbidden);
  expect(await parseXml(text, () => undefined)).toEqual({
    testsuites: {
      '@tests': '2',
      '@failures': '1',
      testsuite: {
        '@name': 'flow.test.yaml',
        '@tests': '2',
        '@failures': '1',
        testcase: [
          {
            '@name': 'a customer who exists',
            '@classname': 'flow.test.yaml',
            failure: { '@message': 'row: name: expected "Bob", found "Ada"', '#text': 'row: name: expected "Bob", found "Ada"' },
          },
          { '@name': 'odd <&"> \u{1F600}', '@classname': 'flow.test.yaml' },
        ],
      },
    },
  });
});

describe('automate test exits with code 3', () => {
  const run = async (files: Record<string, string>) => (await workplace(files)).automate(['test']);

  test('and shows the position of an error in a test file, but runs the other test files', async () => {
    const { code, stdout, stderr } = await run({ 'flow.yaml': flow, 'a.test.yaml': 'flow: flow.yaml\ntest: []\n', 'b.test.yaml': failing });
    expect([code, stdout]).toEqual([3, expect.stringMatching(/^FAIL {2}a\.test\.yaml: not valid\nFAIL {2}b\.test\.yaml/)]);
    expect(stderr).toBe(
      `a.test.yaml:2:1: unknown key "test"; did you mean "tests"?
  2 | test: []
    | ^^^^
a.test.yaml:2:7: expected at least one test, found an empty list
  2 | test: []
    |       ^^
2 problems in a.test.yaml
`,
    );
  });

  test('and shows the position of an error in the flow', async () => {
    const { code, stderr } = await run({ 'flow.yaml': flow.replace('url:', 'ulr:'), 'flow.test.yaml': passing });
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^flow\.yaml:3:5: unknown key "ulr"; did you mean "url"\?\n/)]);
  });

  test('and shows the position in the test file if its flow does not exist', async () => {
    const { code, stderr } = await run({ 'flow.test.yaml': passing });
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^flow\.test\.yaml:1:7: there is no flow flow\.yaml\n/)]);
  });

  test('if a data file of the flow does not exist', async () => {
    const { code, stderr } = await run({
      'flow.yaml':
        'nodes: [{ type: places, lookup: points, source: file, file: points.geojson, category: amenity/cafe, near: { lat: "1", lon: "1", radius: 1km } }]\n',
      'flow.test.yaml': 'flow: flow.yaml\ntests: [{ name: a, record: {} }]\n',
    });
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^flow\.test\.yaml:1:7: .*points\.geojson/)]);
  });

  test("if a test contains a model's answer for a node that is not in the flow", async () => {
    const answer = passing.replace('GET https://api.example.com/users/17, body: { data: { name: Ada } }', 'llm http-1, text: x');
    const { code, stderr } = await run({ 'flow.yaml': flow, 'flow.test.yaml': answer });
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^flow\.test\.yaml:5:26: the flow has no llm node "http-1"; it has none\n/)]);
  });
});

const vars = `vars: { region: { default: eu, staging: ~ } }
nodes: [{ type: http, url: "http://api.example.com/{{vars.region}}" }]
`;

/** Two tests for a flow with a variable and plain HTTP. Only the test "one" specifies everything that the flow needs. */
const ofVars = `flow: vars.yaml
tests:
  - name: one
    record: {}
    options: { allow_http: true }
    answers: [{ request: GET http://api.example.com/eu }]
  - name: two
    record: {}
    env: staging
`;

describe('automate test with a test that cannot run', () => {
  test.each([
    ['{ var: { regoin: us } }', '7:23: the flow has no variable "regoin"; did you mean "region"?'],
    ['{ var: { region: "{{x}}" } }', '7:23: the value of a variable is fixed for the run: expected no references in it, found {{'],
  ])("shows the position of the test's options %s, and runs the other tests", async (options, problem) => {
    const place = await workplace({
      'vars.yaml': vars.replace('http:', 'https:'),
      'a.test.yaml': `flow: vars.yaml
tests:
  - { name: fine, record: {}, answers: [{ request: GET https://api.example.com/eu }] }
  - name: wrong
    record: {}
    # more
    options: ${options}
`,
      'flow.yaml': flow,
      'flow.test.yaml': passing,
    });
    const { code, stdout, stderr } = await place.automate(['test']);
    expect(stderr).toContain(`a.test.yaml:${problem}\n`);
    expect(stderr).not.toContain('--var');
    expect([code, stdout]).toEqual([
      3,
      expect.stringMatching(
        /^FAIL {2}a\.test\.yaml: 1 of 2 tests failed\n {2}wrong\n {4}not valid: a\.test\.yaml:7:23: .*\nok {4}flow\.test\.yaml: 2 tests\n3 passed, 1 failed\n$/,
      ),
    ]);
  });

  test('suggests an option that provides what the flow needs', async () => {
    const place = await workplace({ 'vars.yaml': vars, 'a.test.yaml': ofVars });
    const { code, stdout, stderr } = await place.automate(['test']);
    expect(stderr).toContain(
      'a.test.yaml:7:11: the test "two" cannot run: vars.yaml:1:9: the variable "region" has no value for the environment staging',
    );
    expect(stderr).toContain('\n  give it one in this test: options: { var: { region: VALUE } }\n');
    expect([code, stdout]).toEqual([3, expect.stringMatching(/\n1 passed, 1 failed\n$/)]);
    await place.write('a.test.yaml', ofVars.replace('allow_http: true', 'allow_http: false'));
    const plain = (await place.automate(['test'])).stderr;
    expect(plain).toContain('a.test.yaml:3:11: the test "one" cannot run: vars.yaml:2:28: expected an https URL');
    expect(plain).toContain('\n  or allow it in this test: options: { allow_http: true }\n');
    expect(plain).not.toContain('--');
  });

  test('runs a different test that --only selects', async () => {
    const place = await workplace({ 'vars.yaml': vars, 'a.test.yaml': ofVars });
    expect(await place.automate(['test', '--only', 'one'])).toEqual({
      code: 0,
      stdout: 'ok    a.test.yaml: 1 test\n1 passed, 0 failed\n',
      stderr: '',
    });
  });

  test.each([
    ['a tool of an unknown connection', 'mcp crm/find, text: x', 'the flow has no mcp connection "crm"; it has none'],
    ['a model that is not asked', 'llm crm, text: x', 'the flow has no llm node "crm"; it has none'],
  ])('shows the position of an answer that the flow does not use: %s', async (_, answer, problem) => {
    const text = passing.replace('GET https://api.example.com/users/99, status: 404', answer);
    const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': text });
    const { code, stdout, stderr } = await place.automate(['test']);
    expect([code, stderr]).toEqual([3, expect.stringContaining(`flow.test.yaml:9:26: ${problem}\n`)]);
    expect(stdout).toContain('1 passed, 1 failed');
  });
});

describe('automate test with an invalid test file', () => {
  const files = {
    'flow.yaml': flow,
    'a.test.yaml': 'flow: flow.yaml\ntest: []\n',
    'b.test.yaml': failing,
    'c.yaml': 'nodes: 1\n',
    'c.test.yaml': passing.replace('flow.yaml', 'c.yaml'),
  };

  test('reports the problems in its JSON results', async () => {
    const { code, stdout } = await (await workplace(files)).automate(['test', '--json']);
    const { passed, failed, files: results } = JSON.parse(stdout);
    expect([code, passed, failed, results.length]).toEqual([3, 1, 1, 3]);
    expect(results[0]).toEqual({
      file: 'a.test.yaml',
      tests: [],
      problems: [
        'a.test.yaml:2:1: unknown key "test"; did you mean "tests"?',
        'a.test.yaml:2:7: expected at least one test, found an empty list',
      ],
    });
    expect(results[2]).toEqual({ file: 'c.test.yaml', tests: [], problems: [expect.stringMatching(/^c\.yaml:1:8: /)] });
  });

  test('reports the file as an error in JUnit, like a test that cannot run', async () => {
    const place = await workplace({ ...files, 'vars.yaml': vars, 'd.test.yaml': ofVars });
    expect((await place.automate(['test', '--junit', 'report.xml'])).code).toBe(3);
    const text = await place.read('report.xml');
    const { testsuites } = (await parseXml(text, () => undefined)) as { testsuites: { testsuite: { testcase: unknown[] }[] } };
    expect(testsuites).toMatchObject({ '@tests': '6', '@failures': '1', '@errors': '3' });
    expect(testsuites.testsuite[0]).toMatchObject({
      '@name': 'a.test.yaml',
      '@tests': '1',
      '@errors': '1',
      testcase: { '@name': 'a.test.yaml', error: { '@message': 'a.test.yaml:2:1: unknown key "test"; did you mean "tests"?' } },
    });
    expect(testsuites.testsuite[3]?.testcase[1]).toMatchObject({
      '@name': 'two',
      error: { '@message': expect.stringContaining('d.test.yaml:7:11: ') },
    });
  });

  test('counts invalid files, and names the test file of an invalid flow', async () => {
    const { stdout, stderr } = await (await workplace(files)).automate(['test']);
    expect(stderr).toContain('1 problem in c.yaml, the flow of c.test.yaml\n');
    expect(stdout).toMatch(
      /^FAIL {2}a\.test\.yaml: not valid\n[\s\S]*\nFAIL {2}c\.test\.yaml: not valid\n1 passed, 1 failed, 2 files not valid\n$/,
    );
  });

  test.each([
    ['.', '1:7: expected the file of a flow, found the folder .'],
    ['nowhere/flow.yaml', '1:7: there is no flow nowhere/flow.yaml'],
    ['flow.yml', '1:7: there is no flow flow.yml; did you mean "flow.yaml"?'],
  ])('shows the position in the test file if its flow path is invalid: %s', async (path, problem) => {
    const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': passing.replace('flow.yaml', path) });
    const { code, stderr } = await place.automate(['test']);
    expect([code, stderr]).toEqual([3, expect.stringContaining(`flow.test.yaml:${problem}\n`)]);
  });

  test('runs the other files if one file is not UTF-8', async () => {
    const place = await workplace({ ...files, 'a.test.yaml': Buffer.from(passing.replace('Ada', 'Adé'), 'latin1') });
    const { code, stdout, stderr } = await place.automate(['test']);
    expect(stderr).toContain('a.test.yaml:5:88: expected UTF-8, found the byte 0xE9\n  save the file of tests as UTF-8\n');
    expect([code, stdout]).toEqual([3, expect.stringContaining('1 passed, 1 failed')]);
  });
});

describe('a flow and a test file that are mixed up', () => {
  test('are reported by `automate test`, with the name of the test file', async () => {
    const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': passing });
    const { code, stderr } = await place.automate(['test', 'flow.yaml']);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(
        /^flow\.yaml:1:1: expected a file of tests, found a flow\n[\s\S]*\n {2}its tests are in flow\.test\.yaml: automate test flow\.test\.yaml\n/,
      ),
    ]);
  });

  test('are reported by `automate test`, with a command that creates a first test', async () => {
    const { code, stderr } = await (await workplace({ 'flow.yaml': flow })).automate(['test', 'flow.yaml']);
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining('make its first test from a real answer: automate test-request flow.yaml --save-test "a name"\n'),
    ]);
  });

  test.each([['run', '--in', 'rows.csv'], ['validate'], ['test-request']])('are reported by `automate %s`', async (command, ...options) => {
    const place = await workplace({ 'flow.test.yaml': passing, 'rows.csv': 'id\n1\n' });
    const { code, stderr, stdout } = await place.automate([command, 'flow.test.yaml', ...options]);
    expect([code, stdout + stderr]).toEqual([
      3,
      expect.stringContaining('flow.test.yaml:1:1: expected a flow, found a file of tests, and its flow is flow.yaml\n'),
    ]);
    expect(stdout + stderr).toContain('\n  run its tests: automate test flow.test.yaml\n');
  });
});

test('automate test runs a file once, even if it is specified several times', async () => {
  const place = await workplace({ 'flow.yaml': flow, 'flow.test.yaml': passing });
  await symlink('flow.test.yaml', place.path('link.test.yaml'));
  expect((await place.automate(['test', '.', './flow.test.yaml', place.path('flow.test.yaml'), 'link.test.yaml'])).stdout).toBe(
    'ok    flow.test.yaml: 2 tests\n2 passed, 0 failed\n',
  );
});

test('automate test joins the lines of a test name that has several lines', async () => {
  const place = await workplace({
    'flow.yaml': flow,
    'flow.test.yaml': failing.replace('a customer who exists', '"\\n a customer\\n\\twho exists\\n"'),
  });
  expect((await place.automate(['test'])).stdout).toContain('\n  a customer who exists\n    row: name');
});

test('automate test finds a flow by its absolute path', async () => {
  const place = await workplace({ 'flow.yaml': flow });
  await place.write('flow.test.yaml', passing.replace('flow.yaml', place.path('flow.yaml')));
  expect((await place.automate(['test'])).stdout).toBe('ok    flow.test.yaml: 2 tests\n2 passed, 0 failed\n');
});
test('automate test exits with code 2 if there are no tests', async () => {
  const place = await workplace({ 'flow.yaml': flow });
  expect(await place.automate(['test'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'automate: no tests here\n  write some into a file whose name ends in .test.yaml\n',
  });
  expect(await place.automate(['test', 'nowhere'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'automate: there is no file or folder nowhere\n',
  });
});

test("automate test compiles the flow with the test's env and options, and ignores AUTOMATE_ENV", async () => {
  const place = await workplace({
    'flow.yaml': `vars: { api: { default: https://api.example.com, staging: http://staging.example.com }, path: a }
nodes: [{ type: http, url: "{{vars.api}}/{{vars.path}}" }]
`,
    'flow.test.yaml': `flow: flow.yaml
tests:
  - { name: default, record: {}, answers: [{ request: GET https://api.example.com/a }] }
  - name: staging
    record: {}
    env: staging
    options: { allow_http: true, var: { path: b } }
    answers: [{ request: GET http://staging.example.com/b }]
`,
  });
  expect((await place.automate(['test'], { env: { AUTOMATE_ENV: 'staging' } })).stdout).toContain('2 passed, 0 failed');
});

test.each([
  ['a variable', { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'canary-4711' }],
  ['a file', { AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE: 'secret.txt' }],
])('automate test never prints a secret in %s, and neither writes files nor spends credits', async (_, env) => {
  const files = {
    'flow.yaml': flow,
    'flow.test.yaml': failing.replace('users/99', 'users/98'),
    'secret.txt': 'canary-4711',
    'report.xml': '',
  };
  const place = await workplace(files);
  const before = await readAllFiles(place);
  const { code, stdout, stderr } = await place.automate(['test', '--json', '--junit', 'report.xml'], { env });
  expect([code, stdout]).toEqual([1, expect.stringContaining('Bearer test-crm-token')]);
  expect(stdout + stderr + (await place.read('report.xml'))).not.toContain('canary-4711');
  await place.write('report.xml', '');
  expect(await readAllFiles(place)).toBe(before);
});

test('automate test answers at once, so that the facts of an answer can be tested', async () => {
  const place = await workplace({
    'flow.yaml': `nodes:
  - type: http
    url: https://api.example.com/{{id}}
    auth: { type: api_key, query: key, credential: k }
    timeout: 5s
    cache: 1h
    map: { source: $url, at: $at, ms: $ms, attempts: $attempts, cached: $cached }
`,
    'flow.test.yaml': `flow: flow.yaml
tests:
  - name: at once
    record: { id: a }
    answers: [{ request: GET https://api.example.com/a?key=test-k }]
    rows_exactly: [{ id: a, source: "https://api.example.com/a?key=***", at: "2026-01-01T00:00:00.000Z", ms: 0, attempts: 1, cached: false }]
  - name: after a busy server, no answer within the timeout, and from the cache
    records: [{ id: a }, { id: a }]
    answers:
      - { request: GET https://api.example.com/a?key=test-k, status: 503, headers: { Retry-After: "7" } }
      - { request: GET https://api.example.com/a?key=test-k, fault: timeout }
      - { request: GET https://api.example.com/a?key=test-k }
    waits: [7s, 2s]
    rows:
      - { at: "2026-01-01T00:00:14.000Z", ms: 0, attempts: 3, cached: false }
      - { at: "2026-01-01T00:00:14.000Z", ms: 0, attempts: 3, cached: true }
`,
  });
  expect(await place.automate(['test'])).toEqual({
    code: 0,
    stdout: 'ok    flow.test.yaml: 2 tests\n2 passed, 0 failed\n',
    stderr: '',
  });
});

test('automate test does not write a file that a node would save', async () => {
  const place = await workplace({
    'flow.yaml': 'nodes: [{ type: http, url: "https://api.example.com/{{id}}", save: { to: "out/{{id}}.txt" } }]\n',
    'flow.test.yaml': `flow: flow.yaml
tests:
  - { name: saves, record: { id: a }, answers: [{ request: GET https://api.example.com/a, body: hello }], rows: [{ saved.bytes: 5 }] }
`,
  });
  expect((await place.automate(['test'])).stdout).toContain('1 passed');
  expect(await place.files()).toEqual(['flow.test.yaml', 'flow.yaml']);
});

describe('the example flows', () => {
  const folder = new URL('../../examples/', import.meta.url);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const flows = names.filter((name) => /(?<!\.test)\.ya?ml$/.test(name) && !/^workers.(?!flow)/.test(name));

  test.each(flows)('have passing tests: %s', async (name) => {
    const text = await readFile(new URL(name.replace(/\.yaml$/, '.test.yaml'), folder), 'utf8');
    expect(readTestFile(text, name).flow).toBe(basename(name));
  });
});
