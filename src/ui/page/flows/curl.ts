import type { FlowShape } from '../../../serve/shapes.ts';

/** The curl command line for a call with one record. */
export function curlOfCall(address: string, { id, fields }: Pick<FlowShape, 'id' | 'fields'>): string {
  const record = Object.fromEntries(fields.map((field) => [field, '...']));
  return [
    `curl ${shellQuoted(`${address}/v1/flows/${id}/calls`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    "-H 'Content-Type: application/json'",
    `-d ${shellQuoted(JSON.stringify(record))}`,
  ].join(' \\\n  ');
}

/** The curl command line for a run over a file. curl waits up to a minute for the end of the run. */
export function curlOfRun(address: string, { id }: Pick<FlowShape, 'id'>): string {
  return [
    `curl ${shellQuoted(`${address}/v1/flows/${id}/runs`)}`,
    '-H "Authorization: Bearer $AUTOMATE_KEY"',
    "-H 'Content-Type: text/csv' -H 'Prefer: wait=60'",
    '--data-binary @records.csv',
  ].join(' \\\n  ');
}

/** Quotes a word for a shell. */
function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
