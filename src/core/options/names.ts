import * as z from 'zod';
import { looksSecret } from '../text/secret-shapes.ts';
import { didYouMean, shortName } from '../text/suggest.ts';
import { describedAs, dictionary } from '../value/dictionary.ts';
import { orUndefined } from '../value/value.ts';

/** Few characters are allowed, because the name appears in messages and environment variables. */
export const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'expected a name of letters, digits, dots, dashes and underscores');

export const fieldName = z.string().min(1, 'expected a field name, found an empty string');

/** The name of a credential. Text that looks like a secret is rejected, and not shown in the message. */
export const credentialName = name
  .refine((text) => text.length <= 100 && !looksSecret(text), {
    error: 'expected the name of a credential, found what looks like the secret itself',
  })
  .refine((text) => !/[-_.]file$/i.test(text), {
    error: 'expected a name that does not end in "file", because its variable would be read as the file of another credential',
  })
  .describe('the name of a credential, never its value');

/** The name of a header (RFC 9110, 5.1). */
export const headerName = z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'expected a header name such as X-Request-Id');

const clientHeaders = new Set(['content-length', 'transfer-encoding', 'keep-alive', 'upgrade', 'expect']);

/** True for a header about the connection (RFC 9110, 7.6.1), which the HTTP client undici sets itself, or rejects. */
export function isClientHeader(header: string): boolean {
  return clientHeaders.has(header.toLowerCase());
}

/** The text of a header or parameter. YAML might have parsed it as a number or a boolean. */
export const plainValue = z
  .union([z.string(), z.number(), z.boolean()], { error: 'expected a string, a number, true or false' })
  .transform(String);

const writtenHeaders = dictionary(headerName, plainValue);

/** Each name may occur only once, ignoring case. */
export const headers = describedAs(
  writtenHeaders.superRefine((written, context) => {
    const seen = new Map<string, string>();
    for (const header of Object.keys(written)) {
      const lower = header.toLowerCase();
      const wrong = (message: string) => context.addIssue({ code: 'custom', message, path: [header], params: { isName: true } });
      if (isClientHeader(header)) wrong(`the header "${header}" is set by automate; leave it out`);
      if (seen.has(lower)) wrong(`the header "${header}" is given twice, also as "${seen.get(lower)}"`);
      seen.set(lower, header);
    }
  }),
  writtenHeaders,
);

/** The names that messages suggest. TextDecoder accepts more names (encoding.spec.whatwg.org, 4.2). */
const suggested = [
  ...['utf-8', 'utf-16le', 'utf-16be', 'us-ascii', 'latin1', 'iso-8859-1', 'iso-8859-2', 'iso-8859-5', 'iso-8859-7', 'iso-8859-15'],
  ...['windows-1250', 'windows-1251', 'windows-1252', 'windows-1253', 'windows-1254', 'windows-1256', 'windows-1257', 'koi8-r', 'ibm866'],
  ...['macintosh', 'shift_jis', 'euc-jp', 'iso-2022-jp', 'euc-kr', 'big5', 'gbk', 'gb18030'],
];

function charsetProblem(written: string): string {
  const hint = didYouMean(written, suggested) || '; expected a charset such as utf-8, windows-1252, iso-8859-15 or shift_jis';
  return `no charset "${shortName(written)}"${hint}`;
}

export const charset = z
  .string({ error: 'expected the name of a charset, such as windows-1252' })
  .refine((written) => orUndefined(() => new TextDecoder(written)) !== undefined, { error: ({ input }) => charsetProblem(String(input)) });
