import * as z from 'zod';
import { didYouMean, shortName } from '../text/suggest.ts';
import { orUndefined } from '../value/value.ts';

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

/** The charset of answers that do not state one. */
export const charset = z
  .string({ error: 'expected the name of a charset, such as windows-1252' })
  .refine((written) => orUndefined(() => new TextDecoder(written)) !== undefined, { error: ({ input }) => charsetProblem(String(input)) });
