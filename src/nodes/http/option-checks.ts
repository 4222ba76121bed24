import type { Mapping } from '../../core/answer/mapping.ts';
import { hasStatus } from '../../core/call.ts';
import { noClock } from '../../core/condition/evaluation.ts';
import type { BuildContext, ReportProblem } from '../../core/node.ts';
import { canHaveBody } from '../../core/options/methods.ts';
import { payloadOf } from '../../core/template/body.ts';
import { orUndefined } from '../../core/value/value.ts';
import { answerModeOf, type HttpOptions, type PaginateOptions } from './http-options.ts';

export function checkHttpOptions(options: HttpOptions, mapping: Mapping | undefined, context: BuildContext): void {
  const { problem, warn } = context;
  checkRules(options, context);
  const { paginate, batch, cache, map } = options;
  checkBodyOptions(options, problem);
  if (options.response !== undefined && options.answer !== 'auto')
    problem(['response'], 'response is the older name of the option answer; leave response out');
  for (const option of answerModeOf(options) === 'text' ? lookingInto(options, mapping) : []) {
    warn([option], 'the answer is read as text: only $body, $status, $headers.NAME and facts such as $url find something in it');
  }
  if (paginate) checkPaging(options, paginate, problem);
  if (paginate && !map) warn(['paginate'], 'paginate needs map: without it, nothing is taken from the pages');
  warnOfReplaced(options, warn);
  if (!batch) return;
  if (typeof options.idempotency_key === 'string') {
    problem(['idempotency_key'], 'a batch has one request for all its records; expected true, which makes one key for all of them');
  }
  if (paginate) problem(['paginate'], 'a batch has one answer for all its records; leave paginate or batch out');
  if (cache !== undefined) problem(['cache'], 'the same batch is rarely sent twice, so its answer is not cached; leave out cache or batch');
}

const allStatuses = Array.from({ length: 500 }, (_, index) => index + 100);

/** Reports conditions that are never true, and warns of conditions that are false for every status in `success`. */
function checkRules(options: HttpOptions, { problem, warn }: BuildContext): void {
  const { success, fail_when, retry_when } = options;
  for (const [name, rule] of Object.entries({ fail_when, retry_when })) {
    if (!rule || rule.named.some((variable) => variable !== 'status')) continue;
    const meant = allStatuses.filter((status) => orUndefined(() => rule.evaluate(new Map([['status', status]]), noClock)) ?? true);
    if (meant.some((status) => hasStatus(success, status))) continue;
    if (rule.named.length === 0) problem([name], 'this condition is never true; expected a condition on status, headers or body');
    else if (meant.length === 0) warn([name], 'this condition is never true: no status from 100 to 599 fits it');
    else {
      const use = `it is used only for answers with a status in success (${success.join(', ')}), and other answers fail anyway`;
      const remedy =
        name === 'retry_when' ? retryRemedy(meant, options) : 'leave it out, or if the record should not fail, add the status to success';
      warn([name], `this condition is never true: ${use}\n${remedy}`);
    }
  }
}

const shownStatuses = 5;

function retryRemedy(meant: readonly number[], { retry: { on } }: HttpOptions): string {
  const others = meant.filter((status) => !hasStatus(on, status));
  if (others.length === 0) return 'leave it out: retry.on has these statuses already';
  const classes = new Set(others.map((status) => `${Math.floor(status / 100)}xx`));
  return `to retry such answers: retry: { on: [${[...on, ...(others.length > shownStatuses ? classes : others)].join(', ')}] }`;
}

function checkBodyOptions(options: HttpOptions, problem: ReportProblem): void {
  const { method } = options;
  const [first, ...others] = (['body', 'form', 'text'] as const).filter((name) => options[name] !== undefined);
  for (const name of others) problem([name], `expected at most one of body, form and text, found ${first} and ${name}`);
  if (options.raw && options.text === undefined) problem(['raw'], 'raw belongs to text: it names fields of an XML text');
  if (first !== undefined && !canHaveBody(method)) {
    problem([first], `a ${method} request has no body; expected a method such as POST, PUT or PATCH`);
  }
}

/** Reports a problem if the parameter of the page is to be set in the body, but the request has no JSON body. */
function checkPaging(options: HttpOptions, paginate: PaginateOptions, problem: ReportProblem): void {
  if (!('in' in paginate) || paginate.in !== 'body' || payloadOf(options)?.name === 'body') return;
  problem(
    ['paginate', 'in'],
    `in: body puts the ${paginate.type} into a JSON body, and the node has none; expected a method such as POST and body`,
  );
}

/** Reports a problem if the body of a batch does not contain the list of records. */
export function checkList(options: HttpOptions, hasList: boolean, problem: ReportProblem): void {
  const payload = payloadOf(options);
  if (!payload) problem(['batch'], 'a batch needs a method such as POST and a body with {{items}}, the list of its records');
  else if (!hasList) problem([payload.name], 'expected {{items}} in the body, the list of the records in a batch');
}

export function needsJson({ paginate, batch }: HttpOptions): boolean {
  if (batch?.match !== undefined) return true;
  return !!paginate && (paginate.type !== 'link_header' || paginate.items !== undefined || namesBody(paginate));
}

function namesBody({ until }: PaginateOptions): boolean {
  return until?.named.includes('body') ?? false;
}

function lookingInto({ paginate, batch }: HttpOptions, mapping: Mapping | undefined): string[] {
  const isPaged = !!paginate && (paginate.items !== undefined || ('path' in paginate && !paginate.path.startsWith('$')));
  return [...(mapping?.needsJson ? ['map'] : []), ...(isPaged ? ['paginate'] : []), ...(batch?.match ? ['batch'] : [])];
}

/** Warns of a page parameter in the URL, because `paginate` overwrites it. */
function warnOfReplaced({ url, paginate }: HttpOptions, warn: BuildContext['warn']): void {
  if (paginate?.type !== 'page' && paginate?.type !== 'offset') return;
  const { param } = paginate;
  const start = paginate.type === 'page' ? paginate.start : 0;
  const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  const written = query.split('&').filter((part) => readParameter(part).startsWith(`${param}=`));
  if (written.length === 0 || (written.length === 1 && readParameter(written[0] as string) === `${param}=${start}`)) return;
  const advice = paginate.type === 'page' ? 'under paginate, start says which page is the first' : 'an offset starts at 0, the first item';
  warn(['url'], `paginate replaces ${written.join('&')} with ${param}=${start}\n${advice}`);
}

/** Decodes a part of a query in the way that servers do. */
function readParameter(part: string): string {
  const [[name, value] = ['', '']] = [...new URLSearchParams(part)];
  return `${name}=${value}`;
}
