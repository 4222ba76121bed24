import { rootValue } from '../core/answer/mapping.ts';
import type { Path } from '../core/answer/path.ts';
import { excerpt } from '../core/answer/response.ts';
import type { AnswerCondition, AnswerVariable } from '../core/condition/condition.ts';
import type { EvaluationClock } from '../core/condition/evaluation.ts';
import { Failure } from '../core/failure.ts';
import type { BuildContext, FieldUse } from '../core/node.ts';
import { answerCondition, path, recordUses } from '../core/options/expressions.ts';
import type { Fields } from '../core/record.ts';
import { jsonOf, objectOf, textOf, type Value } from '../core/value/value.ts';
import { singlePath, tryOption } from './call-policy.ts';
import type { Accepted } from './calling.ts';
import type { SchemaCheck } from './schema-check.ts';
import { schemaOption } from './schema-option.ts';

/** Options for responses with an error despite a successful status. `variables` are the parts that a condition may use. */
export function ruleOptions(variables: readonly AnswerVariable[]) {
  const condition = answerCondition(variables).optional();
  const over = `a condition on ${variables.slice(0, -1).join(', ')} and ${variables.at(-1)}`;
  return {
    fail_when: condition.describe(`${over}, such as has(body.errors): if it is true, the record fails`),
    retry_when: condition.describe(`${over}: if it is true, the attempt has failed, and is retried like a 429`),
    error_message: path
      .optional()
      .describe('the path of the error message in an answer, such as errors[0].message; answers with an error status are searched, too'),
  };
}

interface RuleOptions {
  readonly fail_when?: AnswerCondition;
  readonly retry_when?: AnswerCondition;
  readonly error_message?: string;
  readonly answer_schema?: string;
}

export function ruleReads({ fail_when: failWhen, retry_when: retryWhen }: RuleOptions): FieldUse[] {
  return Object.entries({ fail_when: failWhen, retry_when: retryWhen }).flatMap(([option, rule]) =>
    rule ? recordUses(rule, [option]) : [],
  );
}

export class AnswerRules {
  readonly #failWhen: AnswerCondition | undefined;
  readonly #retryWhen: AnswerCondition | undefined;
  readonly #message: Path | undefined;
  readonly #file: string | undefined;
  readonly #schema: SchemaCheck | undefined;

  private constructor(options: RuleOptions, message: Path | undefined, schema: SchemaCheck | undefined) {
    this.#failWhen = options.fail_when;
    this.#retryWhen = options.retry_when;
    this.#message = message;
    this.#file = options.answer_schema;
    this.#schema = schema;
  }

  /** Undefined if the options define no rules. Reports problems. `isShared` is true if many records share a response. */
  static of(options: RuleOptions, isShared: boolean, context: BuildContext): AnswerRules | undefined {
    const { fail_when: failWhen, retry_when: retryWhen, error_message: written } = options;
    const schema = schemaOption('answer_schema', options.answer_schema, false, context);
    if (!failWhen && !retryWhen && written === undefined && !schema) return undefined;
    for (const [name, rule] of Object.entries({ fail_when: failWhen, retry_when: retryWhen })) {
      if (rule) context.warnOfCells([name], rule);
      if (isShared && rule?.recordAt !== undefined) {
        context.problem([name], 'a batch has one answer for all its records; expected a condition that does not use record', rule.recordAt);
      }
    }
    const message = tryOption(context, ['error_message'], () => (written === undefined ? undefined : singlePath(written, 'string')));
    return new AnswerRules(options, message, schema);
  }

  names(variable: AnswerVariable): boolean {
    return (
      (this.#schema !== undefined && variable === 'body') ||
      [this.#failWhen, this.#retryWhen].some((rule) => rule?.named.includes(variable))
    );
  }

  get readsMessage(): boolean {
    return this.#message?.root === 'body';
  }

  /** Throws a Failure if the response meets one of the conditions. */
  check(answer: Accepted, record: Fields | undefined, clock: EvaluationClock): void {
    this.checkRetry(answer, record, clock);
    this.#checkFailure(answer, record, clock);
    const misfit = this.#schema?.problem(answer.body ?? null);
    if (misfit !== undefined) throw new Failure('answer', `the answer does not fit ${this.#file}: ${misfit}`, { status: answer.status });
  }

  /** Throws a retryable Failure if the response meets the condition `retry_when`. */
  checkRetry(answer: Accepted, record: Fields | undefined, clock: EvaluationClock): void {
    const rule = this.#retryWhen;
    if (!rule) return;
    try {
      if (!rule.evaluate(variablesOf(rule, answer, record), clock)) return;
    } catch (error) {
      if (error instanceof Failure) return;
      throw error;
    }
    throw this.#failure(answer, `retry_when is true: ${rule.source}`, true);
  }

  #checkFailure(answer: Accepted, record: Fields | undefined, clock: EvaluationClock): void {
    const rule = this.#failWhen;
    if (!rule) return;
    let isError: boolean;
    try {
      isError = rule.evaluate(variablesOf(rule, answer, record), clock);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Failure('answer', `fail_when: ${error.message}`, { status: answer.status });
    }
    if (isError) throw this.#failure(answer, `fail_when is true: ${rule.source}`, false);
  }

  messageIn(answer: Accepted): string | undefined {
    if (!this.#message) return undefined;
    const text = textOf(rootValue(this.#message, answer, answer.body) ?? '');
    return text.trim() === '' ? undefined : excerpt(text);
  }

  #failure(answer: Accepted, reason: string, retryable: boolean): Failure {
    const { status, body, response } = answer;
    const found = body === undefined ? '' : `, found ${excerpt(typeof body === 'string' ? body : jsonOf(body))}`;
    return new Failure('answer', this.messageIn(answer) ?? reason + found, { status, retryable, retryAfterMs: response?.retryAfterMs });
  }
}

/** The body is converted only if the condition uses it, because it can be large. */
export function variablesOf(
  { named }: Pick<AnswerCondition, 'named'>,
  { status, body, response }: Accepted,
  record: Fields | undefined,
): Fields {
  const values: Readonly<Record<AnswerVariable, () => Value>> = {
    status: () => status ?? null,
    headers: () =>
      objectOf(
        Object.keys(response?.headers ?? {}).map((name) => [name.toLowerCase(), response?.header(name.toLowerCase()) ?? ''] as const),
      ),
    body: () => body ?? null,
    record: () => objectOf([...(record ?? [])]),
  };
  return new Map(named.map((name) => [name, values[name as AnswerVariable]()]));
}
