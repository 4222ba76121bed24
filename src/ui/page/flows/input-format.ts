/** The request headers that tell the server the format of an uploaded file. */
export type InputHeaders = Readonly<Record<string, string>>;

const mediaTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  jsonl: 'application/jsonl',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Returns the request headers for an uploaded file with this name; undefined if the extension is unknown. */
export function inputHeaders(name: string): InputHeaders | undefined {
  const [, extension = '', gz] = /\.([a-z]+)(\.gz)?$/i.exec(name.toLowerCase()) ?? [];
  const type = mediaTypes[extension];
  return type === undefined ? undefined : { 'Content-Type': type, ...(gz !== undefined && { 'Content-Encoding': 'gzip' }) };
}
