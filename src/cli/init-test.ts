import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { referable } from '../core/template/template.ts';
import { shellWord } from '../core/text/quoted-word.ts';
import type { Value } from '../core/value/value.ts';
import { namingErrors } from '../files/naming-errors.ts';
import { statOf } from '../files/stat.ts';
import { recordTest, withTest } from '../flow-tests/recorder.ts';
import { testFileOf } from '../run/reserved-paths.ts';
import type { AnswerExample } from '../starter/openapi/described-answer.ts';
import type { Terminal } from './terminal.ts';

interface ExampleOfFlow {
  readonly plan: Plan;
  readonly answer: AnswerExample;
  readonly samples: ReadonlyMap<string, unknown> | undefined;
  readonly fields: Fields | undefined;
  readonly allowHttp: boolean;
}

/** An existing test file stays unchanged, because it might contain other tests. */
export async function writeFirstTest(
  flow: string,
  { plan, answer, samples = new Map(), fields, allowHttp }: ExampleOfFlow,
  terminal: Terminal,
): Promise<void> {
  const path = testFileOf(flow);
  if (statOf(path)) return terminal.say(`${path} already exists, so it is not changed`);
  const { status, body, lastBody } = answer;
  let requests = 0;
  const made = await recordTest('the example of the API', {
    plan,
    allowHttp,
    fields: exampleRecord(plan, fields && plan.names.fieldsInFlow(fields), samples),
    takeAnswer: () => ({ ...(status !== 200 && { status }), body: requests++ > 0 && lastBody !== undefined ? lastBody : body }),
  });
  // No test is written if the flow fails with the example response, because the test would be useless.
  if (!made || made.fails) return;
  const text = withTest(undefined, basename(flow), { ...made, ...(allowHttp && { options: { allow_http: true } }) });
  await namingErrors(path, 'written', () => writeFile(path, text));
  terminal.say(`${terminal.colors.green('wrote')} ${path}, a first test: automate test ${shellWord(path)}`);
}

/** The first record of the input, with an example value for each field that the flow reads and the record lacks. */
function exampleRecord({ reads }: Plan, fields: Fields | undefined, samples: ReadonlyMap<string, unknown>): Fields {
  const named = new Map([...samples].map(([name, value]) => [referable(name), value]));
  const missing = [...reads.fields].filter((field) => !fields?.has(field));
  return new Map([...(fields ?? []), ...missing.map((field) => [field, String(named.get(field) ?? 'example') as Value] as const)]);
}
