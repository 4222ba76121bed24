import { SaxesParser } from 'saxes';

/** Takes the parts of a document. Names come without the prefix of their namespace. */
export interface XmlHandler {
  open(name: string, attribute: (name: string) => string | undefined): void;
  text(text: string): void;
  close(name: string): void;
}

/** Bytes between two tags: thirty times the longest text that Excel puts into a cell, in its longest form. */
const maxBetweenTags = 4 * 1024 * 1024;

/** A document that is not XML, or has a text that is too long to be one of a workbook. */
export class BadXml extends Error {}

/** Parses a document of a workbook, chunk by chunk. Entities are not resolved but for the five of XML, so none can grow. */
export class XmlReader {
  readonly #parser = new SaxesParser<{ position: false }>({ position: false });
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #sinceTag = 0;

  constructor(handler: XmlHandler) {
    const parser = this.#parser;
    parser.on('opentag', ({ name, attributes }) => {
      this.#sinceTag = 0;
      handler.open(localName(name), (wanted) => attributes[wanted] as string | undefined);
    });
    parser.on('closetag', ({ name }) => {
      this.#sinceTag = 0;
      handler.close(localName(name));
    });
    parser.on('text', (text) => handler.text(text));
    parser.on('cdata', (text) => handler.text(text));
    parser.on('error', (error) => {
      throw new BadXml(error.message.replace(/^[\d:]*\s*/, ''));
    });
  }

  /** Throws a BadXml, or whatever the handler throws. */
  write(chunk: Buffer): void {
    this.#sinceTag += chunk.length;
    this.#parser.write(this.#decode(() => this.#decoder.decode(chunk, { stream: true })));
    if (this.#sinceTag > maxBetweenTags) throw new BadXml('a text or a tag of more than 4 MB');
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

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
