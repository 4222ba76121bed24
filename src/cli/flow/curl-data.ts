import { percentDecoded } from '../../core/template/query.ts';
import { unusableRequest, type WrittenRequest } from '../../flow/starter/written-node.ts';

/** An option of a curl command, and its value. */
export interface Given {
  readonly name: string;
  readonly value: string;
}

/** The body; absent without an option for it, which differs from an empty body. */
export function dataOf(given: readonly Given[]): string | undefined {
  let data: string | undefined;
  for (const { name, value } of given) {
    if (name === 'json') data = `${data ?? ''}${inPlace(value)}`;
    else if (name === 'data-urlencode') data = append(urlEncoded(value));
    else if (/^data/.test(name)) data = append(name === 'data-raw' ? value : inPlace(value));
  }
  return data;

  function append(piece: string): string {
    return data === undefined ? piece : `${data}&${piece}`;
  }
}

/** Encodes a value as --data-urlencode does; a leading plus marks an encoded one. */
export function inQuery(value: string): string {
  return value.startsWith('+') ? value.slice(1) : urlEncoded(value);
}

/** Refuses `@`, with which curl reads a file. */
function inPlace(value: string): string {
  if (value.startsWith('@')) throw unusableRequest('a body from a file (@...) has no counterpart in a flow; put its text into the command');
  return value;
}

/** Encodes `content`, `=content` or `name=content` (curl's --data-urlencode). */
function urlEncoded(value: string): string {
  const [, name, content = value] = /^([^=@]*)=(.*)$/s.exec(value) ?? [];
  if (name === undefined && value.includes('@'))
    throw unusableRequest('data from a file (@...) has no counterpart in a flow; put its text into the command');
  const encoded = encodeURIComponent(content).replaceAll('%20', '+');
  return name ? `${name}=${encoded}` : encoded;
}

const formType = 'application/x-www-form-urlencoded';

type Sent = Pick<WrittenRequest, 'body' | 'form' | 'text' | 'headers'>;

/**
 * The body as a flow writes it, with its headers: JSON, a form, or a text. Without a Content-Type, curl says that it is a form;
 * a text that begins as JSON is taken for JSON all the same.
 */
export function payloadOf(data: string, headers: WrittenRequest['headers'], isJson: boolean): Sent {
  const type = headers.find(([name]) => /^content-type$/i.test(name))?.[1];
  if (isJson || (type === undefined ? /^\s*[[{]/.test(data) : /[/+]json\b/i.test(type))) return { headers, body: data };
  const form = type === undefined || type.toLowerCase().startsWith(formType) ? formIn(data) : undefined;
  if (form) return { headers, form };
  return { headers: type === undefined ? [...headers, ['Content-Type', formType]] : headers, text: data };
}

/** The names and values of a form, each name once. Absent if the text is none, or would be sent otherwise. */
function formIn(data: string): Record<string, string | string[]> | undefined {
  const form = new Map<string, string[]>();
  for (const pair of data.split('&')) {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === '') return undefined;
    form.set(queryDecoded(name), [...(form.get(queryDecoded(name)) ?? []), queryDecoded(value)]);
  }
  return Object.fromEntries([...form].map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]));
}

function queryDecoded(text: string): string {
  return percentDecoded(text.replaceAll('+', ' '));
}
