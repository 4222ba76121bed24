import type { FlowShape } from '../../../serve/shapes.ts';
import { queryOf } from './run-dialog.tsx';

export function curlOfCall(address: string, { id, fields, ...flow }: Pick<FlowShape, 'id' | 'fields' | 'open_vars'>): string {
  const record = Object.fromEntries(fields.map((field) => [field, '...']));
  return [
    `curl ${shellQuoted(`${address}/v1/flows/${id}/calls${neededQuery(flow)}`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${shellQuoted(JSON.stringify(record))}`,
  ].join(' \\\n  ');
}

/** The request waits up to a minute for the run to end. */
export function curlOfRun(address: string, { id, ...flow }: Pick<FlowShape, 'id' | 'open_vars'>): string {
  return [
    `curl ${shellQuoted(`${address}/v1/flows/${id}/runs${neededQuery(flow)}`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    "-H 'Content-Type: text/csv' -H 'Prefer: wait=60'",
    '--data-binary @records.csv',
  ].join(' \\\n  ');
}

/** Returns a query string with the flow's variables that have no default, because a request must set them. */
function neededQuery({ open_vars: open = [] }: Pick<FlowShape, 'open_vars'>): string {
  return queryOf(Object.fromEntries(open.flatMap(({ name, default: value }) => (value === null ? [[name, '...']] : []))));
}

function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
