import { percentDecoded } from '../../core/template/url.ts';
import { unusableRequest, type WrittenRequest } from '../../starter/written-node.ts';

/** An option of a curl command, and its value. */
export interface Given {
  readonly name: string;
  readonly value: string;
}

/** Returns the request body that the options set, which can be empty; undefined if no option sets a body. */
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

/** Encodes a value for the query of a URL as --data-urlencode does. A leading plus means that the value is already encoded. */
export function inQuery(value: string): string {
  return value.startsWith('+') ? value.slice(1) : urlEncoded(value);
}

/** Returns the value unchanged. Throws if it begins with `@`, which makes curl read a file. */
function inPlace(value: string): string {
  if (value.startsWith('@')) throw unusableRequest('a flow cannot read a body from a file (@...); put its text into the command');
  return value;
}

/** Encodes `content`, `=content` or `name=content` as curl's --data-urlencode does. */
function urlEncoded(value: string): string {
  const [, name, content = value] = /^([^=@]*)=(.*)$/s.exec(value) ?? [];
  if (name === undefined && value.includes('@'))
    throw unusableRequest('a flow cannot read data from a file (@...); put its text into the command');
  const encoded = encodeURIComponent(content).replaceAll('%20', '+');
  return name ? `${name}=${encoded}` : encoded;
}

const formType = 'application/x-www-form-urlencoded';

type CurlBody = Pick<WrittenRequest, 'body' | 'form' | 'text' | 'headers'>;

/**
 * Returns the body in the form in which a flow contains it (JSON, a web form, or plain text), and its headers. Without a Content-Type, curl
 * would send a form, but text that begins like JSON is treated as JSON.
 */
export function payloadOf(data: string, headers: WrittenRequest['headers'], isJson: boolean): CurlBody {
  const type = headers.find(([name]) => /^content-type$/i.test(name))?.[1];
  if (isJson || (type === undefined ? /^\s*[[{]/.test(data) : /[/+]json\b/i.test(type))) return { headers, body: data };
  const form = type === undefined || type.toLowerCase().startsWith(formType) ? formIn(data) : undefined;
  if (form) return { headers, form };
  return { headers: type === undefined ? [...headers, ['Content-Type', formType]] : headers, text: data };
}

/**
 * Parses the text of a web form into names and values. Returns undefined if the text is not a form, or if a flow would send it differently.
 */
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
