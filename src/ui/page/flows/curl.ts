import type { FlowShape } from '../../../serve/shapes.ts';
import { queryOf } from './variable-fields.tsx';

/** The curl command line for a call with one record. */
export function curlOfCall(address: string, { id, fields, ...flow }: Pick<FlowShape, 'id' | 'fields' | 'open_vars'>): string {
  const record = Object.fromEntries(fields.map((field) => [field, '...']));
  return [
    `curl ${shellQuoted(`${address}/v1/flows/${id}/calls${neededQuery(flow)}`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${shellQuoted(JSON.stringify(record))}`,
  ].join(' \\\n  ');
}

/** The curl command line for a run over a file. curl waits up to a minute for the end of the run. */
export function curlOfRun(address: string, { id, ...flow }: Pick<FlowShape, 'id' | 'open_vars'>): string {
  return [
    `curl ${shellQuoted(`${address}/v1/flows/${id}/runs${neededQuery(flow)}`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    "-H 'Content-Type: text/csv' -H 'Prefer: wait=60'",
    '--data-binary @records.csv',
  ].join(' \\\n  ');
}

/** The query that sets the variables without a default. */
function neededQuery({ open_vars: open = [] }: Pick<FlowShape, 'open_vars'>): string {
  return queryOf(Object.fromEntries(open.flatMap(({ name, default: value }) => (value === null ? [[name, '...']] : []))));
}

/** Quotes a word for a shell. */
function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
