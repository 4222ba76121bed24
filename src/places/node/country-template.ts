import { Failure } from '../../core/failure.ts';
import type { BuildContext } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { referencedFields, textTemplate } from '../../core/template/template.ts';
import { isBlank } from '../blank.ts';
import { noCountry } from '../country.ts';
import { countryNamed } from '../country-names.ts';

/**
 * Returns a function that renders the option `country`, or the element of its list at this path, as an alpha-2 code. The option can be a
 * country code, or a country's name in many languages. The function returns undefined for blank text, and throws a Failure for text that is
 * not a country.
 */
export function countryTemplate(
  text: string | undefined,
  context: BuildContext,
  at: readonly (string | number)[] = ['country'],
): (fields: Fields) => string | undefined {
  if (text === undefined) return () => undefined;
  if (referencedFields(text).length === 0 && countryNamed(text) === undefined) context.problem(at, noCountry(text));
  const render = textTemplate(text);
  return (fields) => {
    const written = render(fields);
    const code = countryNamed(written);
    if (code === undefined && !isBlank(written)) throw new Failure('request', noCountry(written), { sent: false });
    return code;
  };
}

/** The compiled option `country` of a lookup that prefers a country, but also finds results elsewhere. */
interface PreferredCountry {
  /** Returns the alpha-2 code; undefined for text that is not a country, such as `n/a`. */
  code(fields: Fields): string | undefined;
  /** Returns the text if it is neither a country nor blank; otherwise undefined. */
  unknown(fields: Fields): string | undefined;
}

/** Compiles the option `country` of a lookup that prefers a country, but also finds results elsewhere. */
export function preferredCountry(text: string | undefined, context: BuildContext): PreferredCountry {
  if (text === undefined) return { code: () => undefined, unknown: () => undefined };
  if (referencedFields(text).length === 0 && text.trim() !== '' && countryNamed(text) === undefined)
    context.problem(['country'], noCountry(text));
  const render = textTemplate(text);
  return {
    code: (fields) => countryNamed(render(fields)),
    unknown(fields) {
      const written = render(fields).trim();
      return written === '' || countryNamed(written) !== undefined ? undefined : written;
    },
  };
}
