import { type SaxesAttributePlain, SaxesParser, type SaxesTagPlain } from 'saxes';
import { DocumentError, maxParts, type TextPlace, tooManyParts } from '../../core/answer/document.ts';
import type { Clock } from '../../core/ports.ts';
import { formatCount } from '../../core/text/number.ts';
import type { Value } from '../../core/value/value.ts';

const maxDepth = 100;

/** Maximum number of different attributes and child elements of an element. They become the keys of an object all at once. */
const maxMembers = 100_000;

/** Number of characters that are parsed in one go. That takes up to 10 ms, if the elements are very short. */
const chunkLength = 8192;

/**
 * Parses XML text. An attribute becomes the field `@name`, and elements with the same name become a list. An element that contains only
 * text becomes a string. If it also contains other things, its text becomes the field `#text`. Rejects with a DocumentError if the text is
 * not valid XML, or has too many elements.
 */
export async function parseXml(text: string, turn: Clock['yieldIfLong']): Promise<Value> {
  const parser = new DocumentParser(text);
  // Many servers send empty lines before the XML declaration, although XML does not allow them.
  for (let at = parser.start; at < text.length; at += chunkLength) {
    parser.read(text.slice(at, at + chunkLength));
    await turn();
  }
  return parser.result();
}

interface OpenElement {
  readonly members: Map<string, Value>;
  text: string;
}

/** Mistakes that many servers make, and that leave no doubt about the content. The characters stay as they are written. */
const tolerated = new Set(['disallowed character.', 'the string "]]>" is disallowed in char data.', 'undefined entity.']);

/** Characters that are never tolerated: the parser would leave out a `<` in the value of an attribute, and U+0000 is no text. */
const refused = new Set(['<', '\0']);

/** XML 1.1 is read by the rules of 1.0, because 1.1 would turn U+0085 and U+2028 into line breaks. */
const options = { xmlns: false, position: false, defaultXMLVersion: '1.0', forceXMLVersion: true } as const;

class DocumentParser extends SaxesParser<typeof options> {
  /** Position of the first character that is not a space. */
  readonly start: number;
  readonly #text: string;
  /** The first one contains the root element. */
  readonly #open: OpenElement[] = [{ members: new Map(), text: '' }];
  /** Number of elements, attributes, comments, sections and instructions so far. */
  #parts = 0;
  /** Position after the last of these parts. */
  #partEnd = 0;
  /** The text of earlier chunks that the parser has not reported yet. */
  readonly #textBefore: string[] = [];
  /** The name of the element that ended last. */
  #ended = '';
  #isEnding = false;

  constructor(text: string) {
    super(options);
    // Programs on .NET write control characters as references, which XML 1.0 does not allow. The types do not declare this function.
    Object.assign(this, { isChar: isCharacter });
    this.#text = text;
    this.start = Math.max(0, text.search(/[^ \t\r\n]/));
    // The decoder has removed the byte order mark. The parser would remove another.
    if (text[this.start] === '\ufeff') throw this.#error('expected an element, found a second byte order mark', this.start);
    this.on('opentagstart', ({ name }) => this.#begin(name));
    this.on('attribute', (attribute) => this.#addAttribute(attribute));
    this.on('opentag', () => this.#endPart());
    this.on('closetag', (tag) => this.#end(tag));
    this.on('text', (inside) => this.#addText(inside));
    this.on('cdata', (inside) => this.#addText(inside, true));
    this.on('comment', (inside) => this.#skip(inside));
    this.on('processinginstruction', ({ body }) => this.#skip(body));
    this.on('xmldecl', () => this.#endPart());
    this.on('doctype', () => this.fail('inappropriately located doctype declaration.'));
  }

  read(chunk: string): void {
    this.write(chunk);
    // The parser collects text as a tree of short strings, which can take 40 times as much memory. `slice` makes one string of it. The last
    // character stays there, because the parser does not report an empty text. The types do not declare the field.
    const collected = this as unknown as { text: string };
    if (collected.text.length < 2) return;
    this.#textBefore.push(collected.text.slice(0, -1));
    collected.text = collected.text.slice(-1);
  }

  result(): Value {
    this.#isEnding = true;
    this.close();
    return Object.fromEntries((this.#open[0] as OpenElement).members);
  }

  override fail(message: string): this {
    if (tolerated.has(message) && !refused.has(this.#text[this.#at - 1] as string)) return this;
    throw this.#mistake(message);
  }

  /** Position of the next character in the text. */
  get #at(): number {
    return this.start + this.position;
  }

  #endPart(): void {
    this.#partEnd = this.#at;
  }

  #countPart(): void {
    if (++this.#parts > maxParts) throw tooManyParts('elements, attributes and comments');
    this.#endPart();
  }

  #begin(name: string): void {
    this.#checkName(name);
    const isSecond = this.#open.length === 1 && (this.#open[0] as OpenElement).members.size > 0;
    if (isSecond) throw this.#error('a second root element begins', this.#tagStart());
    if (this.#open.length > maxDepth) throw this.#error(`elements are nested more than ${maxDepth} deep`, this.#tagStart());
    this.#countPart();
    this.#open.push({ members: new Map(), text: '' });
  }

  #addAttribute({ name, value }: SaxesAttributePlain): void {
    this.#checkName(name);
    this.#countPart();
    this.#addMember(`@${name}`, this.#whole(value));
  }

  /** Throws a DocumentError if a colon does not stand between a prefix and a name (Namespaces in XML 1.0, 4). */
  #checkName(name: string): void {
    if (!/^:|:$|:.*:/.test(name)) return;
    throw this.#error(`expected a name such as a or b:a, found ${name}`, this.#text.indexOf(name, this.#tagStart()));
  }

  #addMember(name: string, value: Value): void {
    const { members } = this.#open.at(-1) as OpenElement;
    if (members.set(name, value).size <= maxMembers) return;
    const message = `an element has more than ${formatCount(maxMembers)} different attributes and child elements`;
    throw this.#error(message, this.#tagStart());
  }

  #addText(inside: string, isSection = false): void {
    if (isSection) this.#countPart();
    (this.#open.at(-1) as OpenElement).text += this.#whole(inside);
  }

  #skip(inside: string): void {
    this.#countPart();
    this.#whole(inside);
  }

  /** Returns text together with its beginning in earlier chunks. */
  #whole(end: string): string {
    return this.#textBefore.length === 0 ? end : this.#textBefore.splice(0).join('') + end;
  }

  #end({ name }: SaxesTagPlain): void {
    this.#endPart();
    this.#ended = name;
    const value = elementValue(this.#open.pop() as OpenElement);
    const before = (this.#open.at(-1) as OpenElement).members.get(name);
    if (Array.isArray(before)) before.push(value);
    else this.#addMember(name, before === undefined ? value : [before, value]);
  }

  #mistake(message: string): DocumentError {
    const doctype = /[^<]*(?=<!doctype)/iy;
    doctype.lastIndex = Math.max(this.start, this.#partEnd);
    if (doctype.test(this.#text)) return this.#error('a DOCTYPE is not allowed', doctype.lastIndex);
    if (message === 'malformed character entity.') return this.#error(...this.#wrongReference());
    const reference = this.#openReference();
    if (reference !== undefined) return this.#error('expected a reference such as &amp;, found a single &', reference);
    if (this.#isEnding) return this.#error(`expected ${expectedAtEnd(message)}, found the end of the text`, this.#text.length);
    const plain = message.replace(/\.$/, '');
    if (/^(?:unexpected|unmatched) clos/.test(plain)) return this.#error(this.#wrongEnd(plain), this.#tagStart());
    if (plain === 'text data outside of root node') return this.#error('expected an element, found text', this.#textStart());
    if (plain === 'incorrect syntax') return this.#error('expected a comment or a CDATA section after <!', this.#tagStart());
    if (plain === 'malformed comment') return this.#error('expected > after -- in a comment', this.#at - 1);
    const found = /character|quoted/.test(plain) ? `, found ${JSON.stringify(this.#text[this.#at - 1])}` : '';
    return this.#error(`${plain}${found}`, this.#at - 1);
  }

  #wrongEnd(message: string): string {
    if (message !== 'unexpected close tag') return message;
    return `expected closing tag </${this.#ended}>, found ${this.#text.slice(this.#tagStart(), this.#at)}`;
  }

  /**
   * Returns the position of the `&` whose reference does not end, or ends with a `;` that does not belong to it. Undefined if there is no
   * such reference, or if only its end might be missing because the text was cut off.
   */
  #openReference(): number | undefined {
    const from = Math.max(this.#partEnd, this.#text.lastIndexOf(';', this.#at - 2) + 1);
    const at = this.#text.indexOf('&', from);
    const isOpen = at >= 0 && at < this.#at && !this.#text.slice(this.#partEnd, at).includes('<');
    return isOpen && !(this.#isEnding && /^&#?\w*$/.test(this.#text.slice(at, at + 100))) ? at : undefined;
  }

  #wrongReference(): [string, number] {
    const at = this.#text.lastIndexOf('&', this.#at);
    return [`expected a reference to a character, found ${this.#text.slice(at, this.#at)}`, at];
  }

  #tagStart(): number {
    return this.#text.lastIndexOf('<', this.#at - 1);
  }

  #textStart(): number {
    const from = Math.max(this.start, this.#partEnd);
    return from + this.#text.slice(from).search(/[^ \t\r\n]/);
  }

  #error(message: string, index: number): DocumentError {
    return new DocumentError(message, textPlace(this.#text, index), this.#isEnding);
  }
}

/** An object, or a string if the element contains only text. */
function elementValue({ members, text }: OpenElement): Value {
  const shown = text.trim();
  if (members.size === 0) return shown;
  if (shown !== '') members.set('#text', shown);
  return Object.fromEntries(members);
}

/** Returns what the parser misses, according to its message, at the end of the text. */
function expectedAtEnd(message: string): string {
  if (message.startsWith('unclosed tag: ')) return `closing tag </${message.slice('unclosed tag: '.length)}>`;
  return message.includes('root element') ? 'an element' : 'the end of a tag, comment or section';
}

function isCharacter(code: number): boolean {
  return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

function textPlace(text: string, index: number): TextPlace {
  let line = 1;
  let lineStart = 0;
  for (let at = 0; at < index; at++) {
    const code = text.charCodeAt(at);
    if (code !== 0x0a && (code !== 0x0d || text.charCodeAt(at + 1) === 0x0a)) continue;
    line++;
    lineStart = at + 1;
  }
  return { line, column: index - lineStart + 1 };
}
