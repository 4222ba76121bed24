import { describe, expect, test } from 'vitest';
import { CredentialRefused, Failure, LimitReached } from '../../src/core/failure.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems } from '../helpers/flow-problems.ts';
import { type FlowOptions, runFlow } from '../helpers/run-flow.ts';

const apollo = '{ id: apollo, type: http, url: "https://apollo.example.com/{{id}}", map: { email: person.email } }';
const hunter = '{ id: hunter, type: http, url: "https://hunter.example.com/{{id}}", map: { email: data.email, score: data.score } }';

function flowOf({ options = '', steps = [apollo, hunter], until = 'has(email) && email != ""' } = {}) {
  return `nodes:
  - type: first
    until: ${JSON.stringify(until)}
    found_by: source
    ${options}
    nodes:
${steps.map((step) => `      - ${step}\n`).join('')}`;
}

type Answers = Readonly<Record<string, FakeAnswer | (() => FakeAnswer)>>;

/** Answers by the host and id of a request, such as `apollo 1`, or else by the host. */
function answering(answers: Answers): Pick<FlowOptions, 'http'> {
  return {
    http({ url }) {
      const { host, pathname } = new URL(url);
      const name = host.split('.')[0] as string;
      const answer = answers[`${name} ${pathname.slice(1)}`] ?? answers[name] ?? {};
      return typeof answer === 'function' ? answer() : answer;
    },
  };
}

const byApollo = (email: string | null) => ({ body: { person: { email } } });
const byHunter = (email: string | null, score = 1) => ({ body: { data: { email, score } } });

const hosts = (requests: readonly { readonly url: string }[]) => requests.map(({ url }) => new URL(url).host.split('.')[0]);

const searches = (events: readonly { readonly type: string }[]) => events.filter(({ type }) => type === 'searched');

describe('a first node', () => {
  test('asks the next step only if the one before it did not make the condition true', async () => {
    const http = answering({ 'apollo 1': byApollo('a@x'), apollo: byApollo(null), 'hunter 2': byHunter('h@x', 9), hunter: byHunter('') });
    const { rows, requests, events } = await runFlow(flowOf(), [{ id: 1 }, { id: 2 }, { id: 3 }], http);
    expect(rows.map((row) => Object.entries(row))).toEqual([
      [...[['id', 1]], ['email', 'a@x'], ['score', null], ['source', 'apollo']],
      [...[['id', 2]], ['email', 'h@x'], ['score', 9], ['source', 'hunter']],
      [...[['id', 3]], ['email', null], ['score', null], ['source', null]],
    ]);
    expect(hosts(requests).sort()).toEqual(['apollo', 'apollo', 'apollo', 'hunter', 'hunter']);
    expect(
      searches(events)
        .map((event) => (event as { result?: string }).result)
        .sort(),
    ).toEqual(['found', 'found', 'not-found']);
  });

  test('asks nothing for a record that has the answer, and keeps the value of a record for which nothing is found', async () => {
    const records = [
      { id: 1, email: 'own@x' },
      { id: 2, email: '', score: 7 },
    ];
    const { rows, requests } = await runFlow(flowOf(), records, answering({ apollo: byApollo(null), hunter: byHunter(null, 3) }));
    expect(rows).toEqual([
      { id: 1, email: 'own@x', score: null, source: 'input' },
      { id: 2, email: '', score: 7, source: null },
    ]);
    expect(requests).toHaveLength(2);
  });

  test.each(['email != ""', 'email.contains("@")', 'size(email) > 2', '!(email == "")'])(
    'takes %j for false while there is no value',
    async (until) => {
      const http = answering({ apollo: byApollo(null), hunter: byHunter('h@x') });
      const { rows } = await runFlow(flowOf({ until: `has(email) && ${until}` }), [{ id: 1 }], http);
      expect(rows).toMatchObject([{ source: 'hunter' }]);
      const { rows: plain } = await runFlow(flowOf({ until: 'email.contains("@")' }), [{ id: 1 }], http);
      expect(plain).toMatchObject([{ source: 'hunter' }]);
    },
  );

  test('fails the record if its condition cannot be evaluated with the values that it has', async () => {
    const { failures } = await runFlow(flowOf({ until: 'int(email) > 1' }), [{ id: 1 }], answering({ apollo: byApollo('x') }));
    expect(failures).toMatchObject([
      { node: 'first-1', class: 'template', message: expect.stringMatching(/^until: .*expected a whole number, found "x"/) },
    ]);
  });

  test('passes over a step whose condition is false', async () => {
    const steps = [apollo.replace('}', '}').replace('type: http,', 'type: http, when: id == 2,'), hunter];
    const http = answering({ apollo: byApollo('a@x'), hunter: byHunter('h@x') });
    const { rows, events } = await runFlow(flowOf({ steps }), [{ id: 1 }, { id: 2 }], http);
    expect(rows.map(({ source }) => source)).toEqual(['hunter', 'apollo']);
    expect(searches(events)).toHaveLength(2);
    expect(searches(events)).toContainEqual(expect.objectContaining({ record: 1, asked: [{ step: 'hunter', credits: 1 }] }));
  });

  test('counts what a first inside a step has spent for this step, too', async () => {
    const both = `{ id: both, type: first, until: has(email), nodes: [${apollo}, ${hunter}] }`;
    const { events } = await runFlow(
      flowOf({ steps: [both] }),
      [{ id: 1 }],
      answering({ apollo: byApollo(null), hunter: byHunter('h@x') }),
    );
    expect(searches(events)).toContainEqual(expect.objectContaining({ node: 'first-1', asked: [{ step: 'both', credits: 2 }] }));
  });

  test('counts what models inside a step have cost', async () => {
    const model = (id: string) =>
      `{ id: ${id}, type: llm, provider: ollama, model: m, prompt: "{{id}}", output: { email: {} }, price: { input: 1000, output: 2000 } }`;
    const both = `{ id: both, type: first, until: 'email != ""', nodes: [${model('small')}, ${model('large')}] }`;
    const emails = ['', 'h@x'];
    const { events } = await runFlow(flowOf({ steps: [both] }), [{ id: 1 }], {
      http: () => ({
        body: { message: { content: JSON.stringify({ email: emails.shift() }) }, done: true, prompt_eval_count: 100, eval_count: 50 },
      }),
    });
    const asked = (node: string) => searches(events).find((event) => (event as { node?: string }).node === node);
    expect(asked('first-1')).toMatchObject({ asked: [{ step: 'both', cost: 0.4 }] });
    expect(asked('both')).toMatchObject({ asked: [{ cost: 0.2 }, { cost: 0.2 }] });
  });

  test('starts every step from the record as it came in', async () => {
    const steps = [
      '{ id: guess, type: set, fields: { name: "guessed", company: "acme" } }',
      apollo.replace('{{id}}', '{{id}}?name={{name}}'),
    ];
    const { rows, requests } = await runFlow(flowOf({ steps }), [{ id: 1, name: 'Ada' }], answering({ apollo: byApollo('a@x') }));
    expect(requests.map(({ path }) => path)).toEqual(['/1?name=Ada']);
    expect(rows).toEqual([{ id: 1, name: 'Ada', company: null, email: 'a@x', source: 'apollo' }]);
  });

  test.each([
    ['a status', { status: 500 }],
    ['an answer that is no JSON', { body: '<html>' }],
  ])('asks the next step if one fails with %s', async (_, answer) => {
    const steps = [apollo.replace('map:', 'retry: { max: 0 }, map:'), hunter];
    const { rows, failures, events } = await runFlow(
      flowOf({ steps }),
      [{ id: 1 }],
      answering({ apollo: answer, hunter: byHunter('h@x') }),
    );
    expect([rows, failures]).toMatchObject([[{ email: 'h@x', source: 'hunter' }], []]);
    expect(searches(events)).toMatchObject([
      {
        result: 'found',
        asked: [
          { step: 'apollo', credits: 1, failure: {} },
          { step: 'hunter', credits: 1 },
        ],
      },
    ]);
  });

  test('leaves no trace of a failed step, even with on_error: keep', async () => {
    const steps = [apollo.replace('map:', 'on_error: keep, map:'), hunter.replace('map:', 'on_error: keep, map:')];
    const { rows, events } = await runFlow(flowOf({ steps }), [{ id: 1 }], answering({ apollo: { status: 404 }, hunter: { status: 404 } }));
    expect(rows).toEqual([{ id: 1, email: null, score: null, source: null }]);
    expect(events.filter(({ type }) => type === 'record-passed-through')).toEqual([]);
  });

  test.each([
    [
      { apollo: byApollo(null), hunter: byHunter(null) },
      { class: 'answer', message: 'none of apollo, hunter found it' },
    ],
    [
      { apollo: { status: 404 }, hunter: byHunter(null) },
      { class: 'http', status: 404, message: expect.stringMatching(/^apollo: .*404/) },
    ],
    [
      { apollo: { status: 404 }, hunter: { status: 410 } },
      { class: 'http', status: 410, message: expect.stringMatching(/^hunter: .*410/) },
    ],
  ])('fails a record without an answer if it is required (%j)', async (answers, failure) => {
    const { rows, failures } = await runFlow(flowOf({ options: 'required: true' }), [{ id: 1 }], answering(answers));
    expect([rows, failures]).toMatchObject([[], [{ node: 'first-1', attempts: 1, ...failure }]]);
  });

  test('ends the run at a failed step with on_error: stop', async () => {
    const steps = [apollo.replace('map:', 'on_error: stop, map:'), hunter];
    const { ending, failures, requests } = await runFlow(flowOf({ steps }), [{ id: 1 }], answering({ apollo: { status: 404 } }));
    expect([ending, failures, requests.length]).toMatchObject(['on-error-stop', [{ node: 'apollo' }], 1]);
  });

  test('shares requests of a batch', async () => {
    const batch =
      '{ id: many, type: http, method: POST, url: "https://many.example.com/", batch: { size: 2, items: "{{id}}" }, body: { ids: "{{items}}" }, map: { email: "people[].email" } }';
    const http = ({ url, body }: { url: string; body?: string }): FakeAnswer => {
      if (url.includes('hunter')) return byHunter(`h${url.at(-1)}`);
      const { ids } = JSON.parse(body ?? '') as { ids: number[] };
      return { body: { people: ids.map((id) => ({ email: id % 2 ? `m${id}` : null })) } };
    };
    const records = [1, 2, 3, 4, 5].map((id) => ({ id }));
    const { rows, requests, events } = await runFlow(flowOf({ steps: [batch, hunter] }), records, { http });
    expect(rows.map(({ email }) => email)).toEqual(['m1', 'h2', 'm3', 'h4', 'm5']);
    expect(hosts(requests).filter((host) => host === 'many')).toHaveLength(3);
    const asked = searches(events).flatMap((event) => (event as { asked?: { step: string; credits: number }[] }).asked ?? []);
    expect(asked.filter(({ step }) => step === 'many').reduce((sum, { credits }) => sum + credits, 0)).toBe(3);
  });

  test('can be a step, and can have a poll as a step', async () => {
    const job =
      '{ id: job, type: poll, every: 1s, until: state == "done", nodes: [{ id: state, type: http, url: "https://job.example.com/{{id}}", map: { state: state, email: email } }] }';
    const inner = `{ id: both, type: first, until: has(email), nodes: [${apollo}, ${job}] }`;
    let polled = 0;
    const http = answering({ apollo: { status: 404 }, job: () => ({ body: { state: ++polled === 3 ? 'done' : 'busy', email: 'j@x' } }) });
    const { rows } = await runFlow(flowOf({ steps: [inner, hunter] }), [{ id: 1 }], http);
    expect(rows).toEqual([{ id: 1, email: 'j@x', state: 'done', score: null, source: 'both' }]);
    expect(polled).toBe(3);
  });
});

const problemsOf = (flow: string) =>
  flowProblems(flow, { header: ['id'] })
    .map((problem) => `${problem.line}:${problem.column}: ${problem.message}`)
    .join('\n');

describe('steps that are not one row', () => {
  test.each([
    ['{ type: filter, where: "id > 1" }', '7:17: a filter can drop the record, but a step of `first` gives exactly one row'],
    ['{ type: http, url: "https://x.example.com", map: { a: "a[].b" } }', 'this map can make several rows, but'],
    ['{ type: http, url: "https://x.example.com", map: { a: "a[].b" }, when_empty: drop }', '`when_empty: drop` can drop the record'],
    ['{ type: http, url: "https://x.example.com", paginate: { type: next_url, path: next }, map: { a: b } }', 'can make several rows, but'],
    ['{ type: loop, while: "false", nodes: [{ type: set, fields: { a: 1 } }] }', 'can make several rows, but'],
    ['{ type: poll, until: "true", nodes: [{ type: filter, where: "id > 1" }] }', 'a filter can drop the record'],
    ['{ id: input, type: set, fields: { a: 1 } }', 'found_by is "input" for a record that needs no step'],
    ['{ type: set, fields: { source: 1 } }', '"source" is a field that first-1.set-1 adds'],
  ])('%s is a problem of the flow', (step, message) => {
    expect(problemsOf(flowOf({ steps: [step] }))).toContain(message);
  });

  test('a step cannot use a field of another step, and the condition can use those of all', () => {
    const steps = [apollo, hunter.replace('{{id}}', '{{email}}')];
    expect(problemsOf(flowOf({ steps, until: 'has(score)' }))).toContain('no record has a field "email" here');
    expect(problemsOf(flowOf({ until: 'scoer > 1' }))).toContain('no record has a field "scoer" here; did you mean "score"?');
  });
});

const many = Array.from({ length: 200 }, (_, id) => ({ id: id + 1 }));

describe('a step that can only fail', () => {
  const noRetry = (step: string) => step.replace('map:', 'concurrency: 1, retry: { max: 0 }, map:');
  const steps = [noRetry(apollo), hunter];

  test.each([
    [{ status: 401 }, 'same-failure'],
    [{ status: 403 }, 'same-failure'],
    [{ status: 407 }, 'same-failure'],
    [{ status: 429, headers: { 'retry-after': '3600' } }, 'same-failure'],
    [
      () => {
        throw new Failure('network', 'refused', { sent: false });
      },
      'unreachable',
    ],
    [
      () => {
        throw new LimitReached('the login was refused', 'refused-credential');
      },
      'refused-credential',
    ],
    [
      () => {
        throw new LimitReached('max_cost is used up', 'max-credits', undefined, 'finishing');
      },
      'max-credits',
    ],
  ] as const)('ends the run, before the next one is paid for all records (%#)', async (answer, ending) => {
    const result = await runFlow(flowOf({ steps }), many, answering({ apollo: answer as FakeAnswer, hunter: byHunter('h@x') }));
    expect(result.ending).toBe(ending);
    if (ending === 'same-failure' || ending === 'unreachable')
      expect(result.events).toContainEqual(
        expect.objectContaining({ type: 'stopping', step: expect.objectContaining({ node: 'apollo' }) }),
      );
    expect(result.failures).toEqual([]);
    expect(hosts(result.requests).filter((host) => host === 'hunter').length).toBeLessThan(20);
  });

  test('does not end the run with on_error: keep if the server refuses the login, but does if a secret cannot be used', async () => {
    const keeping = [apollo.replace('map:', 'on_error: keep, map:'), hunter];
    const run = (error: Error) =>
      runFlow(
        flowOf({ steps: keeping }),
        many,
        answering({
          apollo: () => {
            throw error;
          },
          hunter: byHunter('h@x'),
        }),
      );
    const { ending, rows } = await run(new CredentialRefused('the login was refused', false));
    expect([ending, rows.length, rows[0]?.source]).toEqual(['complete', 200, 'hunter']);
    expect((await run(new LimitReached('the secret is not a key', 'refused-credential'))).ending).toBe('refused-credential');
  });

  test.each([
    ['on_error: keep', [apollo.replace('map:', 'on_error: keep, retry: { max: 0 }, map:'), hunter], {}],
    ['--keep-going', steps, { keepGoing: true }],
  ])('does not end the run with %s', async (_, given, options) => {
    const { ending, rows } = await runFlow(flowOf({ steps: given }), many, {
      ...answering({ apollo: { status: 401 }, hunter: byHunter('h@x') }),
      ...options,
    });
    expect([ending, rows.length]).toEqual(['complete', 200]);
  });

  test('does not end the run for other failures, or if it works for some records', async () => {
    for (const apollo of [{ status: 404 }, { status: 500 }]) {
      const { ending } = await runFlow(flowOf({ steps }), many, answering({ apollo, hunter: byHunter('h@x') }));
      expect(ending).toBe('complete');
    }
    const one = { 'apollo 1': byApollo('a@x'), apollo: { status: 401 }, hunter: byHunter('h@x') };
    expect((await runFlow(flowOf({ steps }), many, answering(one))).ending).toBe('complete');
  });

  test('does not count credits that are used up as a failure of the step', async () => {
    const { ending, rows, failures } = await runFlow(flowOf({ steps }), many, { ...answering({ apollo: byApollo('a@x') }), credits: 5 });
    expect([ending, rows.length, failures]).toEqual(['max-credits', 5, []]);
  });
});
