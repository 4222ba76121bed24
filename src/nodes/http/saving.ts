import type { Mapping } from '../../core/answer/mapping.ts';
import type { Path } from '../../core/answer/path.ts';
import { hasStatus } from '../../core/call.ts';
import type { EvaluationClock } from '../../core/condition/evaluation.ts';
import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { HttpRequest } from '../../core/ports.ts';
import { type Fields, withFields } from '../../core/record.ts';
import { sendsFiles } from '../../core/template/multipart.ts';
import { type TextTemplate, textTemplate } from '../../core/template/template.ts';
import type { AnswerHead } from '../../core/transfer.ts';
import type { Value } from '../../core/value/value.ts';
import type { AnswerRules } from '../answer-rules.ts';
import type { HttpAnswer } from './answer-reader.ts';
import { answerModeOf, type HttpOptions } from './http-options.ts';

export const savedFields = ['saved.path', 'saved.bytes'] as const;

export class Saving {
  readonly #to: TextTemplate;
  readonly #replace: boolean;
  readonly #success: HttpOptions['success'];
  readonly #rules: AnswerRules | undefined;

  private constructor(to: TextTemplate, replace: boolean, success: HttpOptions['success'], rules: AnswerRules | undefined) {
    this.#to = to;
    this.#replace = replace;
    this.#success = success;
    this.#rules = rules;
  }

  static of({ save, success }: HttpOptions, rules: AnswerRules | undefined): Saving | undefined {
    return save && new Saving(textTemplate(save.to), save.replace, success, rules);
  }

  /** Adds the file in which the response is saved to a record's request. Throws a Failure if the path of the file cannot be rendered. */
  prepare(fields: Fields, request: HttpRequest, clock: EvaluationClock): HttpRequest {
    const takes = (head: AnswerHead) => hasStatus(this.#success, head.status) && this.#accepts(head, fields, clock);
    return { ...request, save: { to: this.#to(fields), replace: this.#replace, takes } };
  }

  fieldsWith(fields: Fields, { response: { saved } }: HttpAnswer): Fields {
    const [path, bytes] = savedFields;
    return withFields(fields, [
      [path, saved?.path ?? null],
      [bytes, saved?.bytes ?? null],
    ]);
  }

  /** False if the rules of the node treat the response as an error. Such a response is read into memory, and no file is saved. */
  #accepts(head: AnswerHead, fields: Fields, clock: EvaluationClock): boolean {
    if (!this.#rules) return true;
    const answer = {
      ...head,
      body: undefined,
      response: { ...head, body: new Uint8Array(), endedByClose: false, retryAfterMs: undefined },
    };
    try {
      this.#rules.check(answer, fields, clock);
      return true;
    } catch (error) {
      if (error instanceof Failure) return false;
      throw error;
    }
  }
}

export function usesFiles({ save, form }: HttpOptions): boolean {
  return save !== undefined || sendsFiles(form as Record<string, Value> | undefined);
}

interface FileParts {
  readonly mapping: Mapping | undefined;
  readonly rules: AnswerRules | undefined;
  readonly cost: Path | undefined;
}

/** Reports options that cannot be combined with `save`, or with a form that sends files. */
export function checkFileOptions(options: HttpOptions, parts: FileParts, context: BuildContext): void {
  const { save, form, headers = {}, batch, cache } = options;
  const { problem, takesFiles } = context;
  const isSending = sendsFiles(form as Record<string, Value> | undefined);
  const place = save ? ['save'] : ['form'];
  if (!takesFiles && (save || isSending)) {
    problem(place, {
      message: 'a node that sends or saves files needs a folder for them, and none is set',
      code: 'no-files-folder',
      details: {},
    });
  }
  const contentType = Object.keys(headers).find((name) => name.toLowerCase() === 'content-type');
  if (isSending && contentType !== undefined) {
    problem(['headers', contentType], 'a form that sends files always has the content type multipart/form-data; leave out this header');
  }
  if (isSending && batch) problem(['form'], 'a batch has one request for all its records; leave the files or batch out');
  if ((isSending || save) && cache !== undefined) problem(['cache'], 'the cache cannot store files; leave cache out');
  if (save) checkSaveOptions(options, parts, context);
}

function checkSaveOptions(options: HttpOptions, { mapping, rules, cost }: FileParts, { problem }: BuildContext): void {
  if (options.paginate)
    problem(['paginate'], 'the body is saved to a file, so the next page cannot be found in it; leave out paginate or save');
  if (options.batch) problem(['batch'], 'the body is saved to a file, so the records cannot be found in it; leave out batch or save');
  if (answerModeOf(options) !== 'auto') problem(['answer'], 'the body is saved to a file, and is not read; leave out answer or save');
  const reads = 'the body is saved to a file, and is not read; expected';
  if (mapping?.readsBody) problem(['map'], `${reads} paths such as $status and $headers.etag`);
  if (cost?.root === 'body') problem(['cost'], `${reads} a path such as $headers.x-credits-used`);
  if (rules?.names('body'))
    problem([options.fail_when?.named.includes('body') ? 'fail_when' : 'retry_when'], `${reads} a condition on status and headers`);
}
