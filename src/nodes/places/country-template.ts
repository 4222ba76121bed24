import { Failure } from '../../core/failure.ts';
import { isBlank } from '../../core/lookups/blank.ts';
import { noCountry } from '../../core/lookups/country.ts';
import { countryNamed } from '../../core/lookups/country-names.ts';
import type { BuildContext } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { referencedFields, textTemplate } from '../../core/template/template.ts';

/**
 * Compiles the option `country`, or a member of its list at that place: a code, or a name in many languages. Renders its alpha-2 code; undefined for a
 * blank text. Throws a Failure for a text that is not a country.
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

/** The compiled option `country` of a lookup that only prefers a country. */
interface PreferredCountry {
  /** The alpha-2 code; undefined for a text that is not a country, such as `n/a`. */
  code(fields: Fields): string | undefined;
  /** The text if it is not a country, and not blank. */
  unknown(fields: Fields): string | undefined;
}

/** Compiles the option `country` of a lookup that only prefers a country. */
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
