import { SaxesParser } from 'saxes';

/** Element names have no namespace prefix. The attribute `*:name` is one with any prefix. */
export interface XmlHandler {
  open(name: string, attribute: (name: string) => string | undefined): void;
  text(text: string): void;
  close(name: string): void;
}

/** Enough for about thirty times the longest text in an Excel cell, even if every character is escaped. */
const maxBetweenTags = 4 * 1024 * 1024;

/** Elements inside each other. The parts of a workbook have about ten. */
const maxDepth = 100;

/** XML that is not well-formed, is nested too deeply or contains too much text between two tags. */
export class BadXml extends Error {}

/** Parses in chunks. Only the five predefined entities are resolved, because other entities could make the text grow without limit. */
export class XmlReader {
  readonly #parser = new SaxesParser<{ position: false }>({ position: false });
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #sinceTag = 0;
  #depth = 0;

  constructor(handler: XmlHandler) {
    const parser = this.#parser;
    parser.on('opentag', ({ name, attributes }) => {
      this.#sinceTag = 0;
      if (++this.#depth > maxDepth) throw new BadXml(`elements that are nested more than ${maxDepth} deep`);
      const written = attributes as Readonly<Record<string, string>>;
      handler.open(localName(name), (wanted) => (wanted.startsWith('*:') ? prefixed(written, wanted.slice(2)) : written[wanted]));
    });
    parser.on('closetag', ({ name }) => {
      this.#sinceTag = 0;
      this.#depth--;
      handler.close(localName(name));
    });
    parser.on('text', (text) => handler.text(text));
    parser.on('cdata', (text) => handler.text(text));
    parser.on('error', (error) => {
      throw new BadXml(error.message.replace(/^[\d:]*\s*/, ''));
    });
  }

  /** Throws a BadXml if the document is not valid, or the error that the handler throws. */
  write(chunk: Buffer): void {
    this.#sinceTag += chunk.length;
    this.#parser.write(this.#decode(() => this.#decoder.decode(chunk, { stream: true })));
    if (this.#sinceTag > maxBetweenTags) throw new BadXml('text or a tag of more than 4 MB');
  }

  /** Throws a BadXml if the document is not complete. */
  end(): void {
    this.#parser.write(this.#decode(() => this.#decoder.decode()));
    this.#parser.close();
  }

  #decode(next: () => string): string {
    try {
      return next();
    } catch {
      throw new BadXml('bytes that are not UTF-8');
    }
  }
}

function prefixed(attributes: Readonly<Record<string, string>>, wanted: string): string | undefined {
  return Object.entries(attributes).find(([name]) => name.includes(':') && localName(name) === wanted)?.[1];
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
