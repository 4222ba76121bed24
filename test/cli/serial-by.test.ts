import { describe, expect, test } from 'vitest';
import { answeringServer } from '../helpers/answering-server.ts';
import { workplace } from '../helpers/cli.ts';

/** Starts a CRM that lists contacts by email and creates new ones. Requests for the ids in `failing` get a 404. */
async function crm() {
  const contacts: string[] = [];
  const failing = new Set<string>();
  const server = await answeringServer(({ method, path, headers, body }) => {
    const record = String(headers['x-record']);
    if (failing.has(record)) return { status: 404 };
    if (method === 'POST') return { body: { id: contacts.push((JSON.parse(body) as { email: string }).email) } };
    const email = new URL(path, 'http://crm').searchParams.get('email');
    return { body: { items: contacts.flatMap((contact, index) => (contact === email ? [{ id: index + 1 }] : [])) } };
  });
  /** Returns the numbers of the records in the order in which they sent requests, without those in a row. */
  const visits = () => server.requests.map(({ headers }) => String(headers['x-record'])).filter((id, at, all) => id !== all[at - 1]);
  return { server, contacts, failing, visits };
}

const flowOf = (origin: string, serialBy = 'serial_by: email\n') => `${serialBy}nodes:
  - { type: http, id: find, url: "${origin}/contacts?email={{email}}", headers: { X-Record: "{{id}}" }, map: { contact: "items[0].id" } }
  - { type: http, id: create, when: "!has(contact)", method: POST, url: "${origin}/contacts", headers: { X-Record: "{{id}}" }, body: { email: "{{email}}" }, map: { contact: id } }
`;

const rows = (emails: readonly string[]) => ['id,email', ...emails.map((email, index) => `${index + 1},${email}`), ''].join('\n');
const run = ['run', 'flow.yaml', '--in', 'rows.csv', '--out', 'out.csv'];

describe('a flow that finds or creates contacts, with serial_by', () => {
  test('creates no contact twice, although the same email is in many records', async () => {
    const { server, contacts } = await crm();
    const emails = Array.from({ length: 60 }, (_, index) => `${index % 7}@x.org`);
    const place = await workplace({ 'flow.yaml': flowOf(server.origin), 'rows.csv': rows(emails) });
    expect((await place.automate(run)).code).toBe(0);
    expect(contacts.toSorted()).toEqual(emails.slice(0, 7));
    const out = (await place.read('out.csv')).trim().split('\n').slice(1);
    expect(out.map((row) => row.split(',')[0])).toEqual(emails.map((_, index) => String(index + 1)));
  });

  test('continues in order after --resume and in a retry', async () => {
    const { server, contacts, failing, visits } = await crm();
    const place = await workplace({ 'flow.yaml': flowOf(server.origin), 'rows.csv': rows(Array.from({ length: 9 }, () => 'a@x.org')) });
    failing.add('3');
    expect((await place.automate([...run, '--max-errors', '0'])).code).toBe(5);
    expect(visits()).toEqual(['1', '2', '3']);
    failing.add('5').add('7');
    expect((await place.automate([...run, '--resume'])).code).toBe(4);
    failing.clear();
    expect((await place.automate(['retry', 'out.csv'])).code).toBe(0);
    expect(visits()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8', '9', '3', '5', '7']);
    expect([contacts, (await place.read('out.csv')).trim().split('\n').length]).toEqual([['a@x.org'], 10]);
  });

  test('can be given another serial_by without running unchanged records again with --update', async () => {
    const { server } = await crm();
    const place = await workplace({ 'flow.yaml': flowOf(server.origin), 'rows.csv': rows(['a@x.org', 'b@x.org']) });
    await place.automate([...run, '--update']);
    await place.write('flow.yaml', flowOf(server.origin, 'serial_by: [email, id]\n'));
    const before = server.requests.length;
    const { code, stderr } = await place.automate([...run, '--update']);
    expect([code, stderr, server.requests.length]).toEqual([0, expect.stringContaining('2 unchanged'), before]);
  });

  test('takes fields of --set into account', async () => {
    const { server, visits } = await crm();
    const flow = flowOf(server.origin, 'serial_by: [email, region]\n');
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': rows(['a@x.org', 'a@x.org', 'a@x.org']) });
    expect((await place.automate([...run, '--set', 'region=eu'])).code).toBe(0);
    expect(visits()).toEqual(['1', '2', '3']);
  });

  test('writes a record for which the expression fails to the errors file, and sends nothing for it', async () => {
    const { server, visits } = await crm();
    const flow = flowOf(server.origin, 'serial_by: { cel: "email.split(\\"@\\")[1]" }\n');
    const place = await workplace({ 'flow.yaml': flow, 'rows.csv': rows(['a@x.org', 'nobody', 'c@x.org']) });
    const { code, stderr } = await place.automate(run);
    expect([code, visits()]).toEqual([4, ['1', '3']]);
    expect(stderr).toMatch(/template {2}1 x {2}record 2 {2}serial_by: the expression cannot be evaluated/);
    expect(await place.read('out.errors.csv')).toContain('2,nobody,,template,,serial_by: ');
    const request = await place.automate(['test-request', 'flow.yaml', '--in', 'rows.csv', '--record', '2']);
    expect(request.code).not.toBe(0);
    expect(request.stdout + request.stderr).toContain('serial_by: the expression cannot be evaluated');
    const plan = await place.automate([...run.slice(0, 4), '--dry-run']);
    expect(plan.stdout).toContain('(1 would fail before anything is sent; the first: record 2: serial_by: ');
  });

  test('says in validate and in the plan of a dry run that records go one after another', async () => {
    const { server } = await crm();
    const place = await workplace({ 'flow.yaml': flowOf(server.origin), 'rows.csv': rows(['a@x.org']) });
    expect((await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv'])).stdout).toContain(
      'serial_by: records with the same email go through the flow one after another\n',
    );
    expect((await place.automate([...run.slice(0, 4), '--dry-run'])).stdout).toContain(
      'or longer: records with the same email go one after another (serial_by)\n',
    );
  });

  test('can be tested with automate test', async () => {
    const place = await workplace({
      'flow.yaml': flowOf('https://crm.example.com', 'serial_by: { cel: email.lowerAscii() }\n'),
      'flow.test.yaml': `flow: flow.yaml
tests:
  - name: the second record finds the contact
    records: [{ id: 1, email: a@x.org }, { id: 2, email: A@x.org }]
    answers:
      - { request: "GET https://crm.example.com/contacts?email=a%40x.org", body: { items: [] } }
      - { request: POST https://crm.example.com/contacts, body: { id: 7 } }
      - { request: "GET https://crm.example.com/contacts?email=A%40x.org", body: { items: [{ id: 7 }] } }
    rows: [{ id: 1, contact: 7 }, { id: 2, contact: 7 }]
`,
    });
    const { code, stdout, stderr } = await place.automate(['test', 'flow.test.yaml']);
    expect([code, stdout + stderr]).toEqual([0, expect.stringContaining('1 passed')]);
  });
});

describe('a serial_by', () => {
  test.each([
    ['serial_by: emial\n', /^flow\.yaml:1:12: no record has a field "emial" here; did you mean "email"\?/],
    ['serial_by: [email, idd]\n', /^flow\.yaml:1:20: no record has a field "idd" here; did you mean "id"\?/],
    ['serial_by: { cel: emial.trim() }\n', /^flow\.yaml:1:19: no record has a field "emial" here; did you mean "email"\?/],
    ['serial_by: contact\n', /^flow\.yaml:1:12: no record has a field "contact" here; available: id, email/],
    ['serial_by: "{{email}}"\n', /^flow\.yaml:1:12: expected the name of a field, without braces/],
    ['serial_by: { cel: email. }\n', /^flow\.yaml:1:\d+: /],
    ['serial_by: []\n', /^flow\.yaml:1:12: expected at least one field/],
    ['serial_by: { field: email }\n', /^flow\.yaml:1:12: the key "cel" is missing/],
    ['serial_by: 7\n', /^flow\.yaml:1:12: expected a field such as email, a list of fields, or \{ cel: EXPRESSION \}/],
    ['seril_by: email\n', /^flow\.yaml:1:1: unknown key "seril_by"; did you mean "serial_by"\?/],
  ])('that is wrong is a problem of the flow, with its position: %j', async (serialBy, message) => {
    const { server } = await crm();
    const place = await workplace({ 'flow.yaml': flowOf(server.origin, serialBy), 'rows.csv': rows(['a@x.org']) });
    const { code, stderr } = await place.automate(run);
    expect([code, server.requests, await place.files()]).toEqual([3, [], ['flow.yaml', 'rows.csv']]);
    expect(stderr).toMatch(message);
    const validated = await place.automate(['validate', 'flow.yaml', '--in', 'rows.csv']);
    expect([validated.code, validated.stderr]).toEqual([3, expect.stringMatching(message)]);
  });

  test.each([
    [['--workers', '2'], '--workers: expected a flow without serial_by: only one process can let records with the same email go'],
    [
      ['--queue', 'redis://127.0.0.1:1'],
      '--queue: expected a flow without serial_by: only one process can let records with the same email go',
    ],
  ])('excludes workers (%j)', async (more, message) => {
    const { server } = await crm();
    const place = await workplace({ 'flow.yaml': flowOf(server.origin), 'rows.csv': rows(['a@x.org']) });
    for (const args of [more, [...more, '--dry-run']]) {
      const { code, stderr } = await place.automate([...run, ...args]);
      expect([code, stderr, server.requests, await place.files()]).toEqual([
        2,
        expect.stringContaining(message),
        [],
        ['flow.yaml', 'rows.csv'],
      ]);
    }
  });
});
