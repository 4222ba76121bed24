import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { DocumentError, type TextPlace } from '../../core/answer/document.ts';
import type { Value } from '../../core/value/value.ts';

/** Maximum nesting depth of XML elements. */
const maxDepth = 100;

const textName = '#text';
const cdataName = '#cdata';
const attributesName = ':@';

/** Prefix that is added to element names during parsing, because the parser rejects some names, such as `constructor`. */
const mark = '.';

/** An element, text or CDATA section as the parser returns it. Apart from the key for attributes, the object's only key is the name. */
type Node = Readonly<Record<string, unknown>>;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  trimValues: false,
  // The parser would also decode references such as `&amp;` in CDATA sections, where they are not references. So `decodeReferences` decodes
  // them, in text and attributes only.
  processEntities: false,
  cdataPropName: cdataName,
  textNodeName: textName,
  // The parser calls this function twice for an empty element. The second time, the name already has the prefix.
  transformTagName: (name) => (name.startsWith(mark) ? name : mark + name),
  ignoreDeclaration: true,
  ignorePiTags: true,
  maxNestedTags: maxDepth + 1,
});

/**
 * Parses XML text. An attribute becomes the field `@name`, and elements with the same name become a list. An element that contains only
 * text becomes a string. If it also contains other things, its text becomes the field `#text`. Throws a DocumentError if the text is not
 * valid XML.
 */
export function parseXml(written: string): Value {
  const text = written.replace(/^\ufeff/, '');
  refuseDoctype(text);
  refuseInvalid(text);
  refuseShape(text);
  return contentOf(parser.parse(text) as Node[], {});
}

/** Throws a DocumentError if the text has a DOCTYPE. A DOCTYPE can define entities and refer to files, and no API needs one. */
function refuseDoctype(text: string): void {
  for (const { 0: found, index } of text.matchAll(/<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<!doctype/gi)) {
    if (/^<!d/i.test(found)) throw new DocumentError('a DOCTYPE is not allowed', textPlace(text, index));
  }
}

function refuseInvalid(text: string): void {
  const result = XMLValidator.validate(text);
  if (result === true) return;
  const { msg, line, col = 1 } = result.err;
  throw new DocumentError(lowerCased(msg.replace(/\.$/, '')), { line, column: col }, /^Unclosed tag|not closed/i.test(msg));
}

const markup = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<(\/?)[^\s/>"'!?](?:[^>"']|"[^"]*"|'[^']*')*?(\/?)>/g;

/**
 * Throws a DocumentError if elements are nested too deeply or there is a second root element. The validator overlooks a second root element
 * if the first is empty.
 */
function refuseShape(text: string): void {
  let depth = 0;
  let roots = 0;
  for (const { 1: closing, 2: empty, index } of text.matchAll(markup)) {
    if (closing === undefined) continue;
    if (closing === '/') depth--;
    else if (depth === 0 && ++roots > 1) throw new DocumentError('a second root element begins', textPlace(text, index));
    else if (++depth > maxDepth) throw new DocumentError(`elements are nested more than ${maxDepth} deep`, textPlace(text, index));
    if (closing === '' && empty === '/') depth--;
  }
}

function textPlace(text: string, index: number): TextPlace {
  const lines = text.slice(0, index).split(/\r\n|\r|\n/);
  return { line: lines.length, column: (lines.at(-1) as string).length + 1 };
}

function lowerCased(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}

/** Returns an XML element's attributes and content as an object, or as a string if the element contains only text. */
function contentOf(nodes: readonly Node[], attributes: Readonly<Record<string, string>>): Value {
  const members = new Map<string, Value>(Object.entries(attributes).map(([name, value]) => [name, decodeReferences(value)]));
  let text = '';
  for (const node of nodes) {
    const name = Object.keys(node).find((key) => key !== attributesName) as string;
    if (name === textName) text += decodeReferences(String(node[name]));
    else if (name === cdataName) text += (node[name] as Node[]).map((inside) => String(inside[textName])).join('');
    else
      addElement(members, name.slice(mark.length), contentOf(node[name] as Node[], (node[attributesName] ?? {}) as Record<string, string>));
  }
  const shown = text.trim();
  if (members.size === 0) return shown;
  if (shown !== '') members.set(textName, shown);
  return Object.fromEntries(members);
}

/** Adds a child element to the fields of its parent. If there already is a child with the same name, the field becomes a list. */
function addElement(members: Map<string, Value>, name: string, value: Value): void {
  const before = members.get(name);
  if (before === undefined) members.set(name, value);
  else if (Array.isArray(before)) before.push(value);
  else members.set(name, [before, value]);
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Decodes XML's five predefined entities, such as `&amp;`, and character references, such as `&#38;`. All other references stay unchanged.
 */
function decodeReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:(amp|lt|gt|quot|apos)|#(\d+)|#x([\da-f]+));/gi, (written, name, decimal, hex) => {
    if (name !== undefined) return named[name] ?? written;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : written;
  });
}
