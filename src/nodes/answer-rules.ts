import { rootValue } from '../core/answer/mapping.ts';
import type { Path } from '../core/answer/path.ts';
import { excerpt } from '../core/answer/response.ts';
import type { AnswerCondition, AnswerVariable } from '../core/condition/condition.ts';
import { Failure } from '../core/failure.ts';
import type { BuildContext, FieldUse } from '../core/node.ts';
import { answerCondition, path } from '../core/options/expressions.ts';
import type { Fields } from '../core/record.ts';
import { objectOf } from '../core/value/dictionary.ts';
import { jsonOf, textOf, type Value } from '../core/value/value.ts';
import { singlePath, tryOption } from './call-policy.ts';
import type { Accepted } from './calling.ts';

/** The options of a node for answers that say an error with a status of success. `variables`: the parts of an answer that a condition may name. */
export function ruleOptions(variables: readonly AnswerVariable[]) {
  const condition = answerCondition(variables).optional();
  const over = `a CEL condition over ${variables.join(', ')}`;
  return {
    fail_when: condition.describe(`${over}: when it is true, the record fails, such as has(body.errors)`),
    retry_when: condition.describe(`${over}: when it is true, the attempt has failed and is retried as a 429 is`),
    error_message: path.optional().describe("where an answer has the failure's message, also one with an error status: errors[0].message"),
  };
}

/** The checked rules of a node. */
export interface RuleOptions {
  readonly fail_when?: AnswerCondition | undefined;
  readonly retry_when?: AnswerCondition | undefined;
  readonly error_message?: string | undefined;
}

/** The record's fields that the conditions of a node need. */
export function ruleReads({ fail_when: failWhen, retry_when: retryWhen }: RuleOptions): FieldUse[] {
  return Object.entries({ fail_when: failWhen, retry_when: retryWhen }).flatMap(([option, rule]) =>
    (rule?.recordFields ?? []).map(({ name: field, written }) => ({ field, written, at: [option] })),
  );
}

/** The rules of a node for its answers. */
export class AnswerRules {
  readonly #failWhen: AnswerCondition | undefined;
  readonly #retryWhen: AnswerCondition | undefined;
  readonly #message: Path | undefined;

  private constructor({ fail_when: failWhen, retry_when: retryWhen }: RuleOptions, message: Path | undefined) {
    this.#failWhen = failWhen;
    this.#retryWhen = retryWhen;
    this.#message = message;
  }

  /** The rules that the options state; undefined without any. Reports problems. `isShared`: true if many records share an answer. */
  static of(options: RuleOptions, isShared: boolean, context: BuildContext): AnswerRules | undefined {
    const { fail_when: failWhen, retry_when: retryWhen, error_message: written } = options;
    if (!failWhen && !retryWhen && written === undefined) return undefined;
    for (const [name, rule] of Object.entries({ fail_when: failWhen, retry_when: retryWhen })) {
      if (isShared && rule?.recordAt !== undefined) {
        context.problem([name], 'a batch has one answer for all its records; expected a condition without record', rule.recordAt);
      }
    }
    const message = tryOption(context, ['error_message'], () => (written === undefined ? undefined : singlePath(written, 'text')));
    return new AnswerRules(options, message);
  }

  /** True if a condition names a part of the answer. */
  names(variable: AnswerVariable): boolean {
    return [this.#failWhen, this.#retryWhen].some((rule) => rule?.named.includes(variable));
  }

  /** True if a body is looked into only for the message. */
  get readsMessage(): boolean {
    return this.#message?.root === 'body';
  }

  /** Makes an attempt fail if its answer asks for a retry. */
  checkRetry(answer: Accepted, record: Fields | undefined): void {
    const rule = this.#retryWhen;
    if (!rule) return;
    try {
      if (!rule.evaluate(variablesOf(rule, answer, record))) return;
    } catch (error) {
      if (error instanceof Failure) return;
      throw error;
    }
    throw this.#failure(answer, `retry_when is true: ${rule.source}`, true);
  }

  /** Makes a record fail whose answer is an error. */
  checkFailure(answer: Accepted, record: Fields | undefined): void {
    const rule = this.#failWhen;
    if (!rule) return;
    let isError: boolean;
    try {
      isError = rule.evaluate(variablesOf(rule, answer, record));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw new Failure('answer', `fail_when: ${error.message}`, { status: answer.status });
    }
    if (isError) throw this.#failure(answer, `fail_when is true: ${rule.source}`, false);
  }

  /** The message in an answer; undefined if it has none. */
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

/** The variables that a condition names. A body can be large: it is converted only if the condition names it. */
export function variablesOf({ named }: AnswerCondition, { status, body, response }: Accepted, record: Fields | undefined): Fields {
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
