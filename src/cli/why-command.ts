import { usageError } from '../core/failure.ts';
import type { FieldOrigin } from '../core/field-origins.ts';
import { counted, formatCount } from '../core/text/number.ts';
import { statOf } from '../files/stat.ts';
import type { StoredAnswer } from '../http/answers/answer-block.ts';
import { keptIn } from './answers-command.ts';
import { momentText } from './show/keys.ts';
import { tableText } from './show/table.ts';
import { indentedJson, type Terminal } from './terminal.ts';

interface WhyRequest {
  readonly request: string;
  readonly body?: string;
  readonly status?: number;
  readonly at: string;
  readonly attempts: number;
  readonly ms: number;
  /** Undefined if the server did not redirect the request. */
  readonly redirected_to?: string;
  readonly from: 'network' | 'kept';
}

interface WhyNode {
  readonly node: string;
  readonly type: string;
  readonly requests: readonly WhyRequest[];
}

export async function whyCommand(
  out: string,
  { record, json }: { readonly record?: number; readonly json?: boolean },
  terminal: Terminal,
): Promise<undefined> {
  if (record === undefined) throw usageError('expected the number of a record\ngive it with --record, such as --record 347');
  const used = await keptIn(out, (database) => database.usedFor(record));
  if (!used || used.answers.length === 0)
    throw usageError(
      `the last run of ${out} has used no kept answer for record ${formatCount(record)}: it has no such record, or its row was taken over from an older output, or nothing was sent for it, or its requests failed, or were sent without --keep-answers, or their answers contain a secret`,
    );
  const { flow, answers } = used;
  const nodes = flow.nodes
    .filter(({ asks }) => asks)
    .map(({ id, type }): WhyNode => ({ node: id, type, requests: answers.filter(({ node }) => node === id).map(shown) }));
  const changedMs = changedSince(out, flow.endedMs);
  const changed_since = changedMs === undefined ? undefined : new Date(changedMs).toISOString();
  if (json) await terminal.print(indentedJson({ record, changed_since, nodes, fields: flow.fields }));
  else {
    const head = [`record ${formatCount(record)} of ${out}`, ...(changedMs === undefined ? [] : [changedText(out, changedMs)])];
    await terminal.print([...head, ...nodes.flatMap(nodeLines), '', ...fieldLines(flow.fields)].join('\n'));
  }
}

/** The time at which the output was changed after the last run that kept its answers. */
function changedSince(out: string, endedMs = Number.POSITIVE_INFINITY): number | undefined {
  const { mtimeMs = 0 } = statOf(out) ?? {};
  return mtimeMs > endedMs ? mtimeMs : undefined;
}

function changedText(out: string, ms: number): string {
  const since = `${out} has changed since (${momentText(ms)}), by a run without --keep-answers or by another program`;
  return `the last run that kept its answers has sent these requests; ${since}`;
}

function shown({ key, status, at, attempts, ms, redirectedTo, isNew }: StoredAnswer & { readonly isNew: boolean }): WhyRequest {
  return {
    ...requestIn(key, status === 0),
    status: status || undefined,
    at: new Date(at).toISOString(),
    attempts,
    ms,
    redirected_to: redirectedTo && redirectedTo.origin + redirectedTo.path,
    from: isNew ? 'network' : 'kept',
  };
}

/** The key of a request begins with environment, node type and connection; see `requestKey`. */
function requestIn(key: string, isTool: boolean): Pick<WhyRequest, 'request' | 'body'> {
  const text = key.startsWith('#') ? key.slice(key.indexOf('\n') + 1) : key;
  const [, , connection = '', request = '', ...rest] = text.split('\n');
  if (isTool) return { request: `the tool "${request}" of ${connection}`, body: rest.slice(1).join('\n') };
  const end = rest.indexOf('');
  return { request, body: end < 0 ? undefined : rest.slice(end + 1).join('\n') };
}

function nodeLines({ node, requests }: WhyNode): string[] {
  if (requests.length === 0)
    return [`${node}: no answer is kept, because nothing was sent, the request failed, or its answer contains a secret`];
  return requests.flatMap(({ request, body, status, at, attempts, ms, redirected_to, from }) => [
    `${node}: ${request}`,
    ...(body === undefined ? [] : [`  with ${body.length > maxBody ? `${body.slice(0, maxBody)}...` : body}`]),
    ...(redirected_to === undefined ? [] : [`  redirected to ${redirected_to}`]),
    `  ${status === undefined ? '' : `${status}, `}${momentText(Date.parse(at))}, ${counted(attempts, 'attempt')}, ${formatCount(ms)} ms, ${from === 'kept' ? 'kept by an earlier run' : 'from the network'}`,
  ]);
}

const maxBody = 200;

function fieldLines(fields: readonly FieldOrigin[]): string[] {
  return tableText([['field', 'node', 'path'], ...fields.map(({ field, node, path = '' }) => [field, node, path])]);
}
