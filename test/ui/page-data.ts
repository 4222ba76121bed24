import { shownAuthTypes } from '../../src/serve/page/auth-form.ts';
import type { Billing } from '../../src/serve/page/page-shapes.ts';
import type { FlowShape, RunShape } from '../../src/serve/shapes.ts';
import { fullView } from './run-views.ts';

const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();

const flows: readonly FlowShape[] = [
  {
    ...{ id: 'enrich-customers', name: 'enrich-customers', state: 'valid', problems: [], updated_at: ago(90) },
    nodes: [
      { id: 'profile', type: 'http', connection: 'crm' },
      { id: 'segment', type: 'llm', connection: 'models' },
    ],
    ...{ fields: ['id', 'email'], adds: ['name', 'plan', 'segment'], credits_per_record: { least: 1, most: 3 } },
  },
  {
    ...{ id: 'geocode-sites', name: 'Geocode the sites', state: 'valid', problems: [], updated_at: ago(900) },
    nodes: [{ id: 'place', type: 'geocode', connection: null }],
    ...{ fields: ['address'], adds: ['lat', 'lon'], credits_per_record: { least: 1, most: null } },
  },
  {
    ...{ id: 'invoices', name: 'invoices', state: 'invalid', updated_at: ago(2), nodes: [], fields: [], adds: [] },
    problems: [{ line: 4, column: 11, message: 'no node type "htp"; did you mean "http"?' }],
    credits_per_record: { least: 0, most: 0 },
  },
];

function run(number: number, more: Partial<RunShape>): RunShape {
  const id = `run_0193f2c1-7e4b-7c55-9d1f-${String(number).padStart(12, '0')}`;
  const self = `/v1/runs/${id}`;
  return {
    ...{
      id,
      flow: 'enrich-customers',
      key: { id: 'key_1', name: 'crm-sync' },
    },
    ...{ state: 'finished', ending: 'complete', exit_code: 0, reason: null, format: 'csv', bytes: 41_000_000, retry_of: null },
    ...{ created_at: ago(number * 50), started_at: ago(number * 50), ended_at: ago(number * 50 - 12), credits: 6224, resumable: false },
    counts: { read: 6412, written: 6224, failed: 188, retries: 42, waiting: 0 },
    failures: [{ node: 'profile', class: 'http', status: 404, count: 188, message: 'no such user' }],
    workers: null,
    mapped: [{ node: 'profile', path: 'data.user.name', found: 6224, of: 6224 }],
    links: { self, events: `${self}/events`, output: `${self}/output`, errors: `${self}/errors` },
    ...more,
  };
}

/** The runs that the page shows, one in each state. */
export const runs: readonly RunShape[] = [
  run(1, { state: 'running', ending: null, exit_code: null, ended_at: null, started_at: ago(11) }),
  run(2, { state: 'stopped', ending: 'max-credits', reason: 'no credits are left of the allowance', resumable: true }),
  run(3, { key: null, counts: { read: 10_000, written: 10_000, failed: 0, retries: 3, waiting: 0 }, failures: [] }),
  run(40, { flow: 'geocode-sites', state: 'failed', ending: null, reason: 'the disk is full', exit_code: 74, resumable: true }),
];

const days = (count: number) => Array.from({ length: count }, (_, index) => `2026-11-${String(index + 1).padStart(2, '0')}`);

const billing: Billing = {
  ...{ month: '2026-11', used: 12_840, held: 320, allowance: 20_000, remaining: 6840, resets_at: '2026-12-01T00:00:00Z' },
  by_flow: [
    { name: 'enrich-customers', credits: 11_200 },
    { name: 'geocode-sites', credits: 1640 },
  ],
  by_node: [
    { name: 'enrich-customers profile', credits: 9000 },
    { name: 'enrich-customers segment', credits: 2200 },
    { name: 'geocode-sites place', credits: 1640 },
  ],
  by_connection: [
    { name: 'crm', credits: 11_200 },
    { name: '', credits: 1640 },
  ],
  by_environment: [{ name: 'default', credits: 12_840 }],
  by_key: [
    { name: 'crm-sync', credits: 9840 },
    { name: '', credits: 3000 },
  ],
  days: days(24).map((day, index) => ({ day, credits: (index * 173) % 1100 })),
  months: ['2026-07', '2026-08', '2026-09', '2026-10', '2026-11'].map((month, index) => ({ month, credits: 9000 + index * 960 })),
  limits: [
    { name: 'runs at once', value: '4' },
    { name: 'size of an upload', value: '1 GB' },
    { name: 'credits of the key crm-sync', value: '15,000 a month' },
    { name: 'credits of the key warehouse', value: null },
  ],
};

const keys = [
  {
    ...{ id: 'key_1', name: 'crm-sync', start: 'amk_dwGV', scopes: ['run', 'read'], flows: null, rate: '600/min' },
    ...{ created_at: ago(90_000), expires_at: '2027-02-01T00:00:00Z', revoked_at: null, last_used_at: ago(2) },
    credits: { used: 9840, quota: 15_000 },
    days: days(14).map((day, index) => ({ day, requests: (index * 97) % 400, refused: index === 9 ? 40 : 0 })),
  },
  {
    ...{ id: 'key_2', name: 'warehouse', start: 'amk_9fQa', scopes: ['run'], flows: ['geocode-sites'], rate: '10/s' },
    ...{ created_at: ago(4000), expires_at: null, revoked_at: null, last_used_at: null, credits: { used: 0, quota: null } },
    days: days(14).map((day) => ({ day, requests: 0, refused: 0 })),
  },
];

const connections = [
  {
    ...{ name: 'crm', type: 'http', address: 'https://api.crm.example.com/v2', auth: 'bearer', credential: 'crm-token' },
    ...{ tested_at: ago(300), problem: '' },
  },
  {
    ...{ name: 'search', type: 'mcp', address: 'https://mcp.example.com/mcp', auth: 'none', credential: null },
    ...{ tested_at: ago(20), problem: 'the server answered 401' },
  },
];

const library = {
  node_types: [
    {
      name: 'http',
      summary: 'sends an HTTP request',
      yaml: '- type: http\n  url: https://api.example.com/users/{{id}}\n  map:\n    name: data.user.name',
    },
    { name: 'mcp', summary: 'calls a tool of an MCP server', yaml: '- type: mcp\n  connection: search\n  tool: find' },
    { name: 'set', summary: 'sets fields', yaml: '- type: set\n  fields: { country: de }' },
  ],
  connections: [
    {
      ...{ name: 'search', problem: null },
      tools: [
        {
          name: 'find',
          summary: 'finds documents by words',
          yaml: '- type: mcp\n  connection: search\n  tool: find\n  arguments:\n    query: "{{query}}"',
        },
      ],
    },
  ],
};

const answerBody = { data: { user: { name: 'Ada', plan: { name: 'pro' } } }, orders: [{ sku: 'A1' }, { sku: 'B2' }] };

const test = {
  request: { method: 'GET', url: 'https://api.crm.example.com/v2/users/17', headers: { Authorization: 'Bearer ***' }, body: null },
  response: { status: 200, ms: 184, headers: { 'content-type': 'application/json' }, body: answerBody },
  structure: [
    { path: 'data', type: 'object', sample: '1 member' },
    { path: 'data.user.name', type: 'string', sample: '"Ada"' },
    { path: 'data.user.plan.name', type: 'string', sample: '"pro"' },
    { path: 'orders[].sku', type: 'string', sample: '"A1"' },
  ],
  map: [{ name: 'Ada' }],
  failure: null,
};

const text = {
  etag: '"abc"',
  nodes: [
    {
      id: 'profile',
      yaml: '- type: http\n  id: profile\n  connection: crm\n  url: /users/{{id}}\n  map:\n    name: data.user.name',
      map: { name: 'data.user.name' },
    },
  ],
};

const audit = {
  entries: [
    { time: ago(3), who: 'session', what: 'key created', on: 'warehouse', address: '127.0.0.1', outcome: 'done' },
    { time: ago(9), who: 'key_1', what: 'run started', on: runs[0]?.id ?? '', address: '10.0.0.7', outcome: 'done' },
    { time: ago(30), who: '', what: 'key refused', on: '', address: '10.0.0.9', outcome: 'key-invalid, 14 times' },
  ],
  next_cursor: null,
};

const openApi = {
  paths: {
    '/v1/flows': { get: { summary: 'The flows of the key' } },
    '/v1/flows/{flow}/calls': { post: { summary: 'One record in, its records out' } },
    '/v1/flows/{flow}/runs': { post: { summary: 'Store a body of records, and run it' } },
  },
};

/** Returns the responses of a server that has content for every page, by the path below `/ui`. */
export function pageData(): Record<string, unknown> {
  const flow = flows[0] as FlowShape;
  return {
    '/server': {
      version: '1.2.3',
      folder: '/srv/flows',
      address: 'https://automate.example.com',
      edit: true,
      flows: 5,
      running: 1,
      connections: 3,
    },
    '/flows': { flows },
    [`/flows/${flow.id}`]: flow,
    [`/flows/${flow.id}/text`]: text,
    [`POST /flows/${flow.id}/tests`]: test,
    [`POST /flows/${flow.id}/plans`]: {
      records: 3,
      actions: { least: 3, most: 9 },
      credits: { least: 3, most: 9 },
      first_request: test.request,
    },
    [`POST /flows/${flow.id}/runs`]: runs[0],
    '/runs': { runs, next_cursor: 'more' },
    ...Object.fromEntries(runs.map((each) => [`/runs/${each.id}`, each])),
    ...Object.fromEntries(runs.map((each) => [`/runs/${each.id}/view`, { ...fullView, earlier: 0, next: [], state: each.state }])),
    '/library': library,
    '/connections': { connections },
    '/auth-types': { types: shownAuthTypes() },
    'POST /connections/tests': {
      ok: false,
      message: 'the server answered 401',
      check: ['the URL', 'outbound firewall rules', "the credential's validity and expiry"],
    },
    '/keys': { keys },
    'POST /keys': { name: 'nightly', key: `amk_${'x'.repeat(49)}` },
    'PATCH /keys/key_1': keys[0],
    'POST /keys/key_1/rotate': { name: 'crm-sync', key: `amk_${'y'.repeat(49)}` },
    '/billing': billing,
    '/audit': audit,
    '/openapi.json': openApi,
  };
}

/** Returns the responses of a server that has not been used yet. */
export function emptyPageData(): Record<string, unknown> {
  return {
    ...pageData(),
    '/flows': { flows: [] },
    '/runs': { runs: [], next_cursor: null },
    '/library': { ...library, connections: [] },
    '/connections': { connections: [] },
    '/keys': { keys: [] },
    '/audit': { entries: [], next_cursor: null },
    '/billing': {
      ...billing,
      ...{
        used: 0,
        held: 0,
        allowance: null,
        remaining: null,
        by_flow: [],
        by_node: [],
        by_connection: [],
        by_environment: [],
        by_key: [],
      },
      days: days(3).map((day) => ({ day, credits: 0 })),
      months: [],
    },
  };
}
