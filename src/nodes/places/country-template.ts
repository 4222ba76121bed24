import { Failure } from '../../core/failure.ts';
import { countryCode, noCountry } from '../../core/lookups/country.ts';
import { countryNamed } from '../../core/lookups/country-names.ts';
import type { BuildContext } from '../../core/node.ts';
import type { Fields } from '../../core/record.ts';
import { referencedFields, textTemplate } from '../../core/template/template.ts';

/** Compiles the option `country`, or a member of its list at that place. Renders an alpha-2 code; undefined for a blank text. Throws a Failure for any other text. */
export function countryTemplate(
  text: string | undefined,
  context: BuildContext,
  at: readonly (string | number)[] = ['country'],
): (fields: Fields) => string | undefined {
  if (text === undefined) return () => undefined;
  if (referencedFields(text).length === 0 && countryCode(text) === undefined) context.problem(at, noCountry(text));
  const render = textTemplate(text);
  return (fields) => {
    const written = render(fields);
    if (written.trim() === '') return undefined;
    const code = countryCode(written);
    if (code === undefined) throw new Failure('request', noCountry(written), { sent: false });
    return code;
  };
}

/**
 * Compiles the option `country` of a lookup that only prefers a country: a code, or a name in many languages. Renders its alpha-2 code;
 * undefined for a text that is no country, such as `n/a`, which is as good as none.
 */
export function preferredCountry(text: string | undefined, context: BuildContext): (fields: Fields) => string | undefined {
  if (text === undefined) return () => undefined;
  if (referencedFields(text).length === 0 && text.trim() !== '' && countryNamed(text) === undefined)
    context.problem(['country'], noCountry(text));
  const render = textTemplate(text);
  return (fields) => countryNamed(render(fields));
}
