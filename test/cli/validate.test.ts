import { describe, expect, test } from 'vitest';
import { workplace } from '../helpers/cli.ts';

const flow = (more = '') => `name: people
nodes:
  - id: profile
    type: http
    url: https://api.example.com/users/{{id}}
    map: { name: data.user.name }
${more}`;

/** Runs `automate validate` with these files and options. */
async function validate(files: Record<string, string>, args: readonly string[] = [], env: Record<string, string> = {}) {
  const place = await workplace(files);
  return place.automate(['validate', 'flow.yaml', ...args], { env });
}

describe('a flow checked with automate validate', () => {
  test('is reported as valid with its number of nodes', async () => {
    expect(await validate({ 'flow.yaml': flow() })).toEqual({ code: 0, stdout: 'flow.yaml is valid: 1 node\n', stderr: '' });
  });

  test('is reported if it uses no field of the input', async () => {
    const { code, stdout } = await validate(
      { 'flow.yaml': 'nodes: [{ type: http, url: "https://api.example.com/users/99" }]', 'rows.csv': 'id\n1\n' },
      [...['--in', 'rows.csv']],
    );
    const without = '; no node uses a field of the input, so every record sends the same requests';
    expect([code, stdout]).toEqual([0, `flow.yaml is valid: 1 node${without}\n`]);
  });

  test.each([
    ['rows.csv', 'id,city\n1,Oslo\n'],
    ['rows.tsv', 'city\tid\n'],
  ])('is checked against the header of %s', async (name, content) => {
    const { code, stdout } = await validate({ 'flow.yaml': flow(), [name]: content }, ['--in', name]);
    expect([code, stdout]).toEqual([0, `flow.yaml is valid: 1 node, every referenced field is in ${name}\n`]);
  });

  test.each([
    ['rows.ndjson', '{"city":"Oslo"}\n{"id":1}\n'],
    ['last.ndjson', '{"city":"Oslo"}\n{"id":1}'],
    ['rows.json', '[{"city":"Oslo"},{"id":1}]'],
  ])('can refer to a field of any of the first records of %s', async (name, content) => {
    const { code, stdout, stderr } = await validate({ 'flow.yaml': flow(), [name]: content }, ['--in', name]);
    const checked = `; references are checked against the first records of ${name}: later records may have different fields`;
    expect([code, stdout, stderr]).toEqual([0, `flow.yaml is valid: 1 node${checked}\n`, '']);
  });

  test('causes only a warning if a field is missing from the first JSON records', async () => {
    const { code, stdout, stderr } = await validate({ 'flow.yaml': flow(), 'rows.json': '[{"idd":1},{"city":"x"}]' }, [
      '--in',
      'rows.json',
    ]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^flow\.yaml is valid: 1 node; /)]);
    expect(stderr).toBe(
      'flow.yaml:5:40: warning: none of the first records has a field "id" here; did you mean "idd"?\n  5 |     url: https://api.example.com/users/{{id}}\n    |                                        ^^^^^^\n',
    );
  });

  test('is reported as not checked against the input if there are no records', async () => {
    const { code, stdout } = await validate({ 'flow.yaml': flow(), 'rows.ndjson': '' }, ['--in', 'rows.ndjson']);
    expect([code, stdout]).toEqual([0, 'flow.yaml is valid: 1 node; rows.ndjson has no record to check references against\n']);
  });

  test('can refer to fields that earlier nodes add', async () => {
    const more = '  - { type: http, url: "https://api.example.com/{{name}}", when: "name != null" }\n';
    expect(await validate({ 'flow.yaml': flow(more), 'rows.csv': 'id\n1\n' }, ['--in', 'rows.csv'])).toMatchObject({ code: 0 });
  });

  test('requires its credentials, but only warns about them with --offline', async () => {
    const signed = flow('    auth: { type: bearer, credential: crm-token }\n');
    const missing = await validate({ 'flow.yaml': signed });
    expect(missing.code).toBe(7);
    expect(missing.stdout).toBe('');
    expect(missing.stderr).toMatch(/^flow\.yaml:7:\d+: there is no credential "crm-token"\n/);
    const offline = await validate({ 'flow.yaml': signed }, ['--offline']);
    expect([offline.code, offline.stdout]).toEqual([0, 'flow.yaml is valid: 1 node\n']);
    expect(offline.stderr).toMatch(
      /^flow\.yaml:7:\d+: warning: the credential "crm-token" is not in an environment variable; the keychain and the vault were not opened\n(?:.*\n)*.*a run needs it: set AUTOMATE_CREDENTIAL_CRM_TOKEN/,
    );
    const there = await validate({ 'flow.yaml': signed }, ['--offline'], { AUTOMATE_CREDENTIAL_CRM_TOKEN: 'canary-7f3a' });
    expect(there).toEqual({ code: 0, stdout: 'flow.yaml is valid: 1 node\n', stderr: '' });
  });

  test('is checked with --offline even if the vault is damaged', async () => {
    const signed = flow('    auth: { type: bearer, credential: crm-token }\n');
    const place = await workplace({ 'flow.yaml': signed, 'vault.json': '{' });
    const env = { AUTOMATE_HOME: place.folder };
    expect(await place.automate(['validate', 'flow.yaml', '--offline'], { env })).toMatchObject({ code: 0 });
  });

  test('is refused if the environment variable of a credential is empty', async () => {
    const signed = flow('    auth: { type: bearer, credential: crm-token }\n');
    for (const variable of ['AUTOMATE_CREDENTIAL_CRM_TOKEN', 'AUTOMATE_CREDENTIAL_CRM_TOKEN_FILE']) {
      const { code, stderr } = await validate({ 'flow.yaml': signed }, [], { [variable]: '' });
      expect(code).toBe(7);
      expect(stderr).toMatch(new RegExp(`^flow\\.yaml:7:\\d+: the credential "crm-token" is empty: ${variable} is set, but empty\n`));
    }
  });

  test('is refused if a secret for basic auth contains no user name', async () => {
    const basic = (more = '') => ({ 'flow.yaml': flow(`    auth: { type: basic, ${more}credential: crm }\n`) });
    const { code, stdout, stderr } = await validate(basic(), [], { AUTOMATE_CREDENTIAL_CRM: 'canary-7f3a' });
    expect([code, stdout]).toEqual([7, '']);
    expect(stderr).toMatch(/^flow\.yaml:7:38: expected username:password, found no ":"\n/);
    expect(stderr).not.toContain('canary');
    expect((await validate(basic(), [], { AUTOMATE_CREDENTIAL_CRM: 'ann:canary-7f3a' })).code).toBe(0);
    expect((await validate(basic('username: ann, '), [], { AUTOMATE_CREDENTIAL_CRM: 'canary-7f3a' })).code).toBe(0);
  });

  test('causes a warning for text that looks like a misspelt reference', async () => {
    const { code, stdout, stderr } = await validate({ 'flow.yaml': flow('    headers: { X-Name: "{{first-name}} {{ id }}" }\n') });
    expect([code, stdout]).toEqual([0, 'flow.yaml is valid: 1 node\n']);
    expect(stderr).toMatch(/^flow\.yaml:7:\d+: warning: \{\{first-name\}\} is not a reference and stays text/m);
    expect(stderr).toMatch(/^flow\.yaml:7:\d+: warning: \{\{ id \}\} is not a reference and stays text[\s\S]*drop the spaces: \{\{id\}\}/m);
  });
});

describe('automate validate', () => {
  test('reports every problem of a flow with its position, the line and a caret', async () => {
    const { code, stdout, stderr } = await validate({
      'flow.yaml':
        'nodes:\n  - type: http\n    ulr: x\n    url: https://a.example\n    when: "id = 3"\n    retry: { maxx: 3 }\n  - type: htp\n',
    });
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr.match(/^flow\.yaml:\d+:\d+: .*/gm)).toEqual([
      'flow.yaml:3:5: unknown key "ulr"; did you mean "url"?',
      expect.stringMatching(/^flow\.yaml:5:\d+: not a CEL expression: /),
      'flow.yaml:6:14: unknown key "maxx"; did you mean "max"?',
      'flow.yaml:7:11: no node type "htp"; did you mean "http"?',
    ]);
    expect(stderr).toContain('\n  3 |     ulr: x\n    |     ^^^\n');
    expect(stderr).toMatch(/\n4 problems in flow\.yaml\n$/);
  });

  test('reports a missing credential at its connection, once for all nodes', async () => {
    const connected = `connections:
  crm:
    type: http
    base_url: https://a.com
    auth: { type: bearer, credential: crm-token }
nodes:
  - { type: http, connection: crm, url: /a }
  - { type: http, connection: crm, url: /b }
`;
    const { stderr } = await validate({ 'flow.yaml': connected });
    expect(stderr).toMatch(/^flow\.yaml:5:39: there is no credential "crm-token"\n/);
    expect(stderr).toMatch(/\n1 problem in flow\.yaml\n$/);
  });

  test('reports wrong references and missing credentials together', async () => {
    const two = flow(`    auth: { type: bearer, credential: crm }
  - { type: http, url: "https://api.example.com/{{nmae}}" }
`);
    const { code, stderr } = await validate({ 'flow.yaml': two, 'rows.csv': 'Id,b\n1,2\n' }, ['--in', 'rows.csv']);
    expect(code).toBe(3);
    expect(stderr).toMatch(/flow\.yaml:5:\d+: no record has a field "id" here; did you mean "Id"\?/);
    expect(stderr).toMatch(/flow\.yaml:7:\d+: there is no credential "crm"/);
    expect(stderr).toMatch(/flow\.yaml:8:\d+: no record has a field "nmae" here; did you mean "name"\?/);
    expect(stderr).toMatch(/\n3 problems in flow\.yaml\n$/);
  });

  test('prints no control characters from the flow', async () => {
    const { stderr } = await validate({ 'flow.yaml': 'nodes: [{ type: "ht\u009b31mp" }] # \u202e\n' });
    expect(stderr).toContain('no node type');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for control characters
    expect(stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
  });
});

describe('the input of automate validate', () => {
  test('must exist and be readable', async () => {
    expect(await validate({ 'flow.yaml': flow() }, ['--in', 'rows.csv'])).toMatchObject({ code: 6, stdout: '' });
  });

  test('can come from stdin', async () => {
    const place = await workplace({ 'flow.yaml': flow() });
    const { code } = await place.automate(['validate', 'flow.yaml', '--in', '-', '--in-format', 'csv'], { stdin: 'id\n' });
    expect(code).toBe(0);
  });
});

test.each([
  ['wide characters', '日本語/{{idd}}', `日本語/{{idd}}" }]\n    | ${' '.repeat(45)}^`],
  ['combining marks', 'e\u0301/{{idd}}', `e\u0301/{{idd}}" }]\n    | ${' '.repeat(40)}^`],
  [
    'a long line',
    `${'x'.repeat(600)}{{idd}}/${'y'.repeat(600)}`,
    `\n  1 | ...${'x'.repeat(60)}{{idd}}/${'y'.repeat(52)}...\n    | ${' '.repeat(63)}^`,
  ],
])('a caret is below the mistake after %s', async (_what, path, shown) => {
  const place = await workplace({ 'flow.yaml': `nodes: [{ type: http, url: "https://a/${path}" }]`, 'rows.csv': 'id\n1\n' });
  expect((await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv'])).stderr).toContain(shown);
});

test('automate validate refuses http:// without --allow-http', async () => {
  const plain = { 'flow.yaml': flow().replace('https:', 'http:') };
  expect((await validate(plain)).code).toBe(3);
  expect((await validate(plain, ['--allow-http'])).code).toBe(0);
});

test.each([
  ['validate', []],
  ['run', []],
  ['run', ['--dry-run']],
  ['test-request', ['--set', 'city=Oslo']],
])('automate %s reports all problems of a flow at once with the options %j', async (command, options) => {
  const flow = [
    'nodes:',
    '  - type: http',
    '    url: https://a.example.com/{{idd}}',
    '    url: https://a.example.com/{{idd}}',
    '    timout: 3s',
    '    connection: crm',
    '    body: { a: 1 }',
    '    headers: { X: !mine b }',
    '  - { type: set, when: "false", fields: { place: "{{city}}" } }',
  ].join('\n');
  const place = await workplace({ 'flow.yaml': `${flow}\n`, 'rows.csv': command === 'test-request' ? 'id\n1\n' : 'id,city\n1,Oslo\n' });
  const { code, stderr } = await place.automate([command, 'flow.yaml', '--in', 'rows.csv', ...options]);
  expect(code).toBe(3);
  for (const [at, problem] of [
    ['4:5', 'expected each key once, found this one twice'],
    ['5:5', 'unknown key "timout"; did you mean "timeout"?'],
    ['6:17', 'no connection "crm"'],
    ['7:11', 'a GET request has no body'],
    ['8:19', 'expected plain YAML, found a custom tag'],
  ]) {
    expect(stderr).toContain(`flow.yaml:${at}: ${problem}`);
  }
  expect(stderr).toMatch(/flow\.yaml:\d:\d+: no record has a field "idd" here; did you mean "id"\?/);
  expect(stderr).toContain('6 problems in flow.yaml');
});
