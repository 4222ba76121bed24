import { Failure } from '../failure.ts';
import { textOf, type Value } from '../value/value.ts';
import { fieldOf, type TextTemplate, templateParts } from './template.ts';

interface XmlProblem {
  readonly message: string;
  /** The 0-based position in the text. */
  readonly offset: number;
}

interface XmlTemplate {
  readonly render: TextTemplate;
  /** The names in the references, such as `id` and `vars.company`. */
  readonly names: readonly string[];
  readonly problems: readonly XmlProblem[];
}

/** A place in an XML text. References are only allowed in the text of elements, in the values of attributes, and in CDATA sections. */
type XmlPlace = 'text' | 'attribute' | 'CDATA section' | 'comment' | 'tag' | 'processing instruction' | 'DOCTYPE' | 'outside';

/** True for a content type of XML (RFC 7303). */
export function isXmlType(contentType: string): boolean {
  return /^\s*(?:(?:text|application)\/xml|[^\s;/]+\/[^\s;]+\+xml)\s*(?:;|$)/i.test(contentType);
}

interface WrittenXml {
  /** The text with the names of its variables, such as `{{vars.company}}`. */
  readonly text: string;
  readonly variables: ReadonlyMap<string, string>;
  /** The names of references to XML that needs no escaping, such as `fragment` and `vars.header`. */
  readonly raw: readonly string[];
}

/**
 * Compiles a template for XML text. Each value is escaped for the place of its reference, unless the reference is one of `raw`. The
 * positions of problems refer to the text with the values of its variables. The template must not be rendered if there are problems.
 */
export function xmlTemplate({ text, variables, raw }: WrittenXml): XmlTemplate {
  const parts = xmlParts(text);
  if (parts.every((part) => typeof part === 'string')) return { problems: [], names: [], render: () => text };
  const { xmlPlaceAt, broken } = placesIn(parts.map((part) => (typeof part === 'string' ? part : standInFor(part))).join(''));
  const problems = broken === undefined ? [] : [{ message: brokenMessage, offset: broken }];
  let offset = 0;
  const pieces = parts.map((part, index): string | TextTemplate => {
    const start = offset;
    offset += typeof part === 'string' ? part.length : standInFor(part).length;
    if (typeof part === 'string') return part;
    const { name } = part;
    const place = xmlPlaceAt(start);
    const message = place && placeProblem(name, place, raw.includes(name));
    if (message !== undefined) problems.push({ message, offset: start });
    const next = parts[index + 1];
    const escaped = raw.includes(name) ? (value: string) => value : escapeFor(place, typeof next === 'string' ? next : '');
    const value = variables.get(name);
    return value === undefined ? (fields) => escaped(checkedText(name, fieldOf(fields, name))) : escaped(value);
  });
  return {
    names: parts.flatMap((part) => (typeof part === 'string' ? [] : [part.name])),
    problems: problems.map(({ message, offset: written }) => ({ message, offset: filledOffset(written, parts, variables) })),
    render: (fields) => {
      let rendered = '';
      for (const piece of pieces) rendered += typeof piece === 'string' ? piece : piece(fields);
      return rendered;
    },
  };
}

/** Converts a position in the text to the position in the text with the values of its variables. */
function filledOffset(written: number, parts: readonly (string | Reference)[], variables: WrittenXml['variables']): number {
  let start = 0;
  let shift = 0;
  for (const part of parts) {
    if (start >= written) break;
    const length = typeof part === 'string' ? part.length : standInFor(part).length;
    const value = typeof part === 'string' ? undefined : variables.get(part.name);
    if (value !== undefined) shift += value.length - length;
    start += length;
  }
  return written + shift;
}

interface Reference {
  /** The text between the braces, such as `id` or `vars.company`. */
  readonly name: string;
}

function xmlParts(text: string): (string | Reference)[] {
  return text
    .split(/(\{\{vars\.[A-Za-z_]\w*\}\})/)
    .flatMap((piece, index) =>
      index % 2 === 1
        ? [{ name: piece.slice(2, -2) }]
        : templateParts(piece).map((part) => (typeof part === 'string' ? part : { name: part.field })),
    );
}

/** Letters are allowed in every place of XML. */
function standInFor({ name }: Reference): string {
  return 'r'.repeat(name.length + '{{}}'.length);
}

/** XML 1.0, 2.8 to 3.1. The subset of a DOCTYPE is in brackets. */
const markup =
  /<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!DOCTYPE(?:[^<>"'[]|"[^"]*"|'[^']*'|\[(?:[^\]"']|"[^"]*"|'[^']*')*\])*>|<\/?[^\s<>"'/!?](?:[^<>"']|"[^"<]*"|'[^'<]*')*>|[^<]+/sy;

/** `broken` is the position from which the text is not well-formed, so that the places after it are unknown. */
function placesIn(text: string): { xmlPlaceAt(offset: number): XmlPlace | undefined; broken: number | undefined } {
  const ranges: { readonly end: number; readonly place: XmlPlace }[] = [];
  let depth = 0;
  let end = 0;
  markup.lastIndex = 0;
  for (let found = markup.exec(text)?.[0]; found !== undefined; found = end < text.length ? markup.exec(text)?.[0] : undefined) {
    const place = placeOfMarkup(found, depth);
    if (place === 'tag') ranges.push(...attributeRanges(found, end));
    if (place === 'tag' && !found.endsWith('/>')) depth = Math.max(0, depth + (found.startsWith('</') ? -1 : 1));
    end += found.length;
    ranges.push({ end, place });
  }
  return { xmlPlaceAt, broken: end < text.length ? end : undefined };

  function xmlPlaceAt(offset: number): XmlPlace | undefined {
    while (offset >= (ranges[0]?.end ?? Number.POSITIVE_INFINITY)) ranges.shift();
    return ranges[0]?.place;
  }
}

function placeOfMarkup(found: string, depth: number): XmlPlace {
  if (found.startsWith('<!--')) return 'comment';
  if (found.startsWith('<![')) return 'CDATA section';
  if (found.startsWith('<?')) return 'processing instruction';
  if (found.startsWith('<!')) return 'DOCTYPE';
  if (found.startsWith('<')) return 'tag';
  return depth > 0 ? 'text' : 'outside';
}

/** The tag begins at `start`. */
function attributeRanges(tag: string, start: number): { end: number; place: XmlPlace }[] {
  return [...tag.matchAll(/=\s*("[^"]*"|'[^']*')/g)].flatMap(({ 0: whole, 1: value = '', index }) => {
    const end = start + index + whole.length;
    return [
      { end: end - value.length, place: 'tag' as const },
      { end, place: 'attribute' as const },
    ];
  });
}

const brokenMessage =
  'expected XML, as the content type says, found "<" without a tag, a comment or a section that ends\nwrite &lt; for the character, or close what begins here';

function placeProblem(field: string, place: XmlPlace, isRaw: boolean): string | undefined {
  const reference = `{{${field}}}`;
  if (place === 'text' || place === 'attribute' || place === 'CDATA section' || (isRaw && place === 'outside')) return undefined;
  if (place === 'outside')
    return `${reference} is outside of the elements of the XML, where no text is allowed\nif the field is XML already, write raw: [${field}]; otherwise put it into an element`;
  const where = place === 'tag' ? 'a tag of the XML, and not in the value of an attribute in quotes' : `a ${place} of the XML`;
  return `${reference} is in ${where}, where no value can be escaped\nput it into the text of an element, or into the value of an attribute in quotes`;
}

/** Throws a Failure for a value with a character that XML 1.0 (2.2) cannot contain, not even escaped. */
function checkedText(field: string, value: Value): string {
  const text = textOf(value);
  const [wrong] = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u.exec(text) ?? [];
  if (wrong === undefined) return text;
  const code = wrong.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  throw new Failure('request', `the field "${field}" contains the character U+${code}, which XML cannot contain`, { sent: false });
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };

/** Escapes text. A parser would turn a carriage return into a line feed (XML 1.0, 2.11), so it is escaped, too. */
function escapedText(text: string): string {
  return text.replace(/[&<>"'\r]/g, (character) => entities[character] ?? '&#13;');
}

/** Escapes the value of an attribute. A parser would turn tabs and line breaks into spaces (XML 1.0, 3.3.3). */
function escapedAttribute(text: string): string {
  return escapedText(text).replace(/[\t\n]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function escapeFor(place: XmlPlace | undefined, next: string): (text: string) => string {
  if (place === 'CDATA section') return cdataEscape(next);
  return place === 'attribute' ? escapedAttribute : escapedText;
}

const split = ']]><![CDATA[';

/** Splits a CDATA section wherever a value and the text around it would end the section. `next` is the text after the reference. */
function cdataEscape(next: string): (text: string) => string {
  const closesNext = /^\]?>/.test(next);
  return (text) => {
    // The text before the value can end with brackets, so a value that begins with > or ]> is split, too, and so is an empty value.
    const safe = text.replace(/(^\]?|\]\])>/g, `$1${split}>`);
    return closesNext && (text === '' || text.endsWith(']')) ? safe + split : safe;
  };
}
