import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { usageError } from '../../core/failure.ts';
import type { Item } from '../../core/item.ts';
import { allSteps, type Plan } from '../../core/plan.ts';
import type { GivenVariables } from '../../core/run-options.ts';
import { counted, creditsText } from '../../core/text/number.ts';
import { shellWord } from '../../core/text/quoted-word.ts';
import type { Value } from '../../core/value/value.ts';
import { refuseUnwritable } from '../../files/naming-errors.ts';
import { realFile, statOf } from '../../files/stat.ts';
import { writeDurably } from '../../files/state-file.ts';
import { type Recorder, recordedAnswer, recordTest, type WrittenTest, withTest } from '../../flow-tests/recorder.ts';
import { readTestFile } from '../../flow-tests/test-file.ts';
import { loadTestFile } from '../../flow-tests/test-files.ts';
import { testFileOf } from '../../run/reserved-paths.ts';
import type { Terminal } from '../terminal.ts';
import type { TestRequestOptions } from './test-request-options.ts';

/** Runs before the request. Throws an AutomateError (`usage`) if options exclude each other, a FlowError if the test file is not valid. */
export async function checkSave(
  { plan, flow }: { readonly plan: Plan; readonly flow: string },
  { saveTest: name = '', send, curl, write, node }: Pick<TestRequestOptions, 'saveTest' | 'send' | 'curl' | 'write' | 'node'>,
): Promise<void> {
  if (name.trim() === '') throw usageError('--save-test: expected the name of a test, found an empty string');
  const other = curl ? '--curl' : !send ? '--no-send' : write === undefined ? undefined : '--write';
  if (other !== undefined) throw usageError(`--save-test saves the answers for the whole flow, so leave out ${other}`);
  const acting = allSteps(plan.steps).filter(({ node: { action } }) => action && !action.lookup?.isLocal);
  if (node !== undefined && acting.at(-1)?.id !== node) {
    const reason = `the flow sends more requests after "${node}", and a test needs the answers to all of them`;
    throw usageError(`${reason}\nleave out --node, or use the last node: --node ${acting.at(-1)?.id}`);
  }
  const path = testFileOf(flow);
  if (statOf(path)) await checkTestFile(path, flow, name);
  refuseUnwritable(path);
}

async function checkTestFile(path: string, flow: string, name: string): Promise<void> {
  const file = await loadTestFile(path);
  if (resolve(dirname(path), file.flow) !== resolve(flow)) throw usageError(`${path} has the tests of a different flow, ${file.flow}`);
  if (file.tests.some((test) => test.name === name)) throw usageError(`${path} has a test "${name}" already\nchoose another name`);
}

interface RecordedItem {
  readonly plan: Plan;
  readonly flow: string;
  readonly item: Item;
  readonly recorder: Recorder;
}

/** Adds the test to the test file next to the flow. Comments in that file are kept. */
export async function saveTest(
  { plan, flow, item, recorder }: RecordedItem,
  options: Pick<TestRequestOptions, 'saveTest' | 'env' | 'var' | 'allowHttp'>,
  terminal: Terminal,
): Promise<void> {
  const { saveTest: name = '', allowHttp = false } = options;
  terminal.say(`${counted(recorder.requests, 'request')} sent, ${creditsText(recorder.credits)} spent`);
  const text = await readFile(flow, 'utf8');
  const resultOf = recorder.replay();
  const recorded = await recordTest(name, {
    plan,
    allowHttp,
    fields: item.fields,
    takeAnswer(asked) {
      const result = resultOf(asked.unsigned);
      return result && recordedAnswer(result, asked, text);
    },
  });
  if (!recorded) throw usageError('no test can be made of this record: its requests differ each time');
  const test = { ...(terminal.redactor.value(recorded as object as Value) as object as WrittenTest), ...settingsOf(options) };
  const path = testFileOf(flow);
  const before = statOf(path) ? await readFile(path, 'utf8') : undefined;
  const written = withTest(before, basename(flow), test);
  readTestFile(written, path);
  const mode = before === undefined ? 0o644 : (await stat(path)).mode & 0o777;
  await writeDurably(realFile(path), written, mode);
  const has = `${counted(recorded.answers.length, 'answer')} and ${recorded.rows ? counted(recorded.rows.length, 'row') : 'a failure'}`;
  const shown = name.trim().replace(/\s+/g, ' ');
  terminal.say(`${terminal.colors.green('wrote')} the test "${shown}" with ${has} into ${path}\n  automate test ${shellWord(path)}`);
}

function settingsOf({ env, var: variables, allowHttp }: { env?: string; var?: GivenVariables; allowHttp?: boolean }): Partial<WrittenTest> {
  const given = variables && variables.length > 0 ? { var: Object.fromEntries(variables) } : {};
  const options = { ...(allowHttp && { allow_http: true }), ...given };
  return { ...(env !== undefined && { env }), ...(Object.keys(options).length > 0 && { options }) };
}
