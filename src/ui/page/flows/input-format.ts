/** The headers that tell the server how a file of records is written. */
export type InputHeaders = Readonly<Record<string, string>>;

const mediaTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/jsonl',
};

/** The headers for a file by its name; absent if its name does not tell the format. */
export function inputHeaders(name: string): InputHeaders | undefined {
  const [, extension = '', gz] = /\.([a-z]+)(\.gz)?$/i.exec(name.toLowerCase()) ?? [];
  const type = mediaTypes[extension];
  return type === undefined ? undefined : { 'Content-Type': type, ...(gz !== undefined && { 'Content-Encoding': 'gzip' }) };
}
