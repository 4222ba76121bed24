import type { Failure } from '../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { Fields } from '../core/record.ts';
import { objectOf } from '../core/value/dictionary.ts';
import { jsonOf, type Value } from '../core/value/value.ts';
import type { AnswerSource, AskedRequest } from './given-answers.ts';
import { runTest } from './test-run.ts';
import type { ExpectedFailure, TestAnswer } from './test-schema.ts';
import type { WrittenTest } from './written-test.ts';

/** A flow, the record from which a test is made, and the source of the answers to the record's requests. */
export interface RecordedFlow {
  readonly plan: Plan;
  readonly fields: Fields;
  readonly allowHttp: boolean;
  /** Returns the answer to a request, without its `request` key. Returns undefined if there is no answer. */
  takeAnswer(request: AskedRequest): Omit<TestAnswer, 'request'> | undefined;
}

/**
 * Makes a test from one record. The test contains the record's requests with their answers, and the resulting rows or failure. Returns
 * undefined if a request has no answer.
 */
export async function recordTest(name: string, { plan, fields, allowHttp, takeAnswer }: RecordedFlow): Promise<WrittenTest | undefined> {
  const answers: TestAnswer[] = [];
  let isComplete = true;
  const source: AnswerSource = {
    takeAnswer(asked) {
      const answer = takeAnswer(asked);
      if (!answer) {
        isComplete = false;
        return undefined;
      }
      // The first name identifies the request most specifically.
      const written = { request: asked.names[0] as string, ...answer };
      answers.push(written);
      return written;
    },
  };
  const { rows, failures } = await runTest({ plan, records: [fields], set: [], allowHttp, answers: source });
  const [failed] = failures;
  const record = objectOf([...fields]);
  const result = failed ? { fails: writtenFailure(failed.failure) } : { rows: rows.map((row) => objectOf(madeFields(row, fields))) };
  return isComplete ? { name, record, answers, ...result } : undefined;
}

/** Returns the fields of an output row that the flow has added or changed, or all fields if there are none. */
function madeFields(row: Fields, record: Fields): [string, Value][] {
  const made = [...row].filter(([name, value]) => jsonOf(value) !== jsonOf(record.get(name) ?? null) || !record.has(name));
  return made.length > 0 ? made : [...row];
}

function writtenFailure({ node, kind, status, message }: Failure): ExpectedFailure {
  return { ...(node !== undefined && { node }), class: kind, ...(status !== undefined && { status }), message };
}
