/** The request headers that declare the format of a file of records. */
export type InputHeaders = Readonly<Record<string, string>>;

const mediaTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/jsonl',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Returns the request headers for a file name; undefined if the ending is not known. */
export function inputHeaders(name: string): InputHeaders | undefined {
  const [, extension = '', gz] = /\.([a-z]+)(\.gz)?$/i.exec(name.toLowerCase()) ?? [];
  const type = mediaTypes[extension];
  return type === undefined ? undefined : { 'Content-Type': type, ...(gz !== undefined && { 'Content-Encoding': 'gzip' }) };
}
