import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DocumentError } from '../../src/core/answer/document.ts';
import { readBody } from '../../src/core/answer/response.ts';
import { Failure } from '../../src/core/failure.ts';
import { createDocuments } from '../../src/http/documents/documents.ts';
import { toResponse } from '../helpers/fake-answer.ts';
import { runFlow } from '../helpers/run-flow.ts';

const documents = createDocuments({ yieldIfLong: () => undefined });

const failureOf = async (path: string, body: string, type: string) => {
  const yaml = `nodes:\n  - { type: http, url: "https://api.example.com/", map: { n: "${path}" } }\n`;
  return (await runFlow(yaml, [{ id: 1 }], { http: () => ({ body, headers: { 'content-type': type } }) })).failures[0];
};

describe('a document with too many parts', () => {
  test.each([
    ['elements', `<a>${'<b/>'.repeat(1_000_000)}</a>`],
    ['attributes', `<a>${'<b c="" d=""/>'.repeat(400_000)}</a>`],
    ['comments', `${'<!---->'.repeat(1_000_000)}<a/>`],
    ['instructions', `<a>${'<?b?>'.repeat(1_000_000)}</a>`],
    ['sections', `<a>${'<![CDATA[]]>'.repeat(800_000)}${'<b/>'.repeat(200_000)}</a>`],
  ])('fails the record if these are XML %s', async (_, body) => {
    const message = 'the answer has more than 1,000,000 elements, attributes and comments\nrequest less at once, for example with paginate';
    expect(await failureOf('a.b', body, 'text/xml')).toMatchObject({ class: 'parse', message: expect.stringContaining(message) });
  });

  test.each([
    ['in many rows', 'a\n'.repeat(1_000_001)],
    ['in a row that does not end', `a\n"${'","'.repeat(1_000_001)}`],
  ])('fails the record if these are cells %s', async (_, body) => {
    expect(await failureOf('[].a', body, 'text/csv')).toMatchObject({
      class: 'parse',
      message: expect.stringContaining('the answer has more than 1,000,000 cells\nrequest less at once'),
    });
  });

  test('is read if there are 1,000,000', async () => {
    const xml = (await documents.parse('xml', `<a>${'<b/>'.repeat(999_999)}</a>`)) as { a: { b: string[] } };
    expect(xml.a.b).toHaveLength(999_999);
    expect(await documents.parse('csv', 'a\n'.repeat(1_000_000))).toHaveLength(999_999);
  });
});

test.each([
  ['attributes', `<a ${Array.from({ length: 100_001 }, (_, index) => `b${index}=""`).join(' ')}/>`, 1],
  ['child elements', `<a>\n${Array.from({ length: 100_001 }, (_, index) => `<b${index}/>`).join('')}</a>`, 2],
])('an XML element can have at most 100,000 different %s', async (_, text, line) => {
  await expect(documents.parse('xml', text)).rejects.toMatchObject({
    message: 'an element has more than 100,000 different attributes and child elements',
    place: { line },
  });
});

test('a CSV header can have 200,000 names, among which a repeated name is found', async () => {
  const names = Array.from({ length: 200_000 }, (_, index) => `n${index}`).join(',');
  expect(await documents.parse('csv', `${names}\n${','.repeat(199_999)}x\n`)).toMatchObject([{ n0: '', n199999: 'x' }]);
  await expect(documents.parse('csv', `${names},n7\n`)).rejects.toMatchObject({
    message: 'two columns have the name "n7"',
    place: { line: 1, column: 200_001 },
  });
});

const openings = [
  '<!--',
  '<![CDATA[',
  '<?x ',
  '<!',
  '<a ',
  '<a>',
  '</a>',
  '<',
  '&',
  '&lt;',
  '"',
  "'",
  '\r',
  '\n',
  ',',
  ';',
  '{',
  '[',
  '{"a":',
  '\\',
];
const odd = [
  '-->',
  ']]>',
  '?>',
  '/>',
  '>',
  '=',
  '-',
  ']',
  '}',
  ':',
  ' ',
  '\t',
  '\0',
  '\ufeff',
  'é',
  '😀',
  '<!DOCTYPE a [',
  '<!ENTITY x "y">',
  '&#0;',
  '""',
];

const real = {
  xml: '<?xml version="1.0" encoding="UTF-8"?>\n<soap:Envelope xmlns:soap="urn:s"><!-- c --><soap:Body id="1"><r a=\'2\'>x &amp; y</r><r><![CDATA[<b>]]></r></soap:Body></soap:Envelope>',
  csv: 'id;name;"the\r\nnote"\r\n1;Ada;"a ""b"" c"\r\n2;Bob;\r\n',
  rows: '"1","5 Main St","Match","Exact","5 MAIN ST","-77.1,38.9","763","L"\n"2","x","No_Match"\n',
  json: '{"a": [1, 2.50, "x\\u00e9", {"b": null}], "c": {"d": true}}\n',
};

/** Generates text from pieces: openings, often repeated, and whole documents that are cut and spliced. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...openings, ...odd),
      fc.tuple(fc.constantFrom(...openings), fc.integer({ min: 2, max: 3000 })).map(([opening, times]) => opening.repeat(times)),
      fc
        .tuple(fc.constantFrom(...Object.values(real)), fc.nat(250), fc.nat(250))
        .map(([text, from, to]) => text.slice(Math.min(from, to), Math.max(from, to))),
      fc.string({ unit: 'binary', maxLength: 5 }),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

/** Generates a document in which some characters are replaced, removed or doubled. */
const mutated = (text: string) =>
  fc
    .array(fc.tuple(fc.nat(text.length), fc.nat(3), fc.constantFrom('', ...openings, ...odd)), { maxLength: 4 })
    .map((edits) => edits.reduce((before, [at, length, piece]) => before.slice(0, at) + piece + before.slice(at + length), text));

describe('the parser for', () => {
  test.each(['xml', 'csv', 'rows'] as const)('%s rejects hostile text only with a DocumentError, at a place in the text', async (kind) => {
    const texts = fc.oneof(hostileText, mutated(real[kind]));
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const error = await documents.parse(kind, text).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error === undefined) return;
        expect(error).toBeInstanceOf(DocumentError);
        const { place = { line: 0, column: 0 } } = error as DocumentError;
        expect(place.line).toBeGreaterThan(0);
        expect(place.line).toBeLessThanOrEqual(text.split(/\r\n?|\n/).length);
        expect(place.column).toBeGreaterThan(0);
      }),
      { numRuns: 600 },
    );
  });

  test('JSON fails only with a Failure of class parse, whatever the bytes, charset and mode are', () => {
    const bytes = fc.oneof(
      fc.oneof(hostileText, mutated(real.json)).map((text) => Buffer.from(text)),
      hostileText.map((text) => Buffer.from(text, 'latin1')),
      fc.uint8Array({ maxLength: 50 }),
    );
    const types = fc.constantFrom(
      'application/json',
      'application/json; charset=latin1',
      'text/plain;charset="utf-16"',
      'text/xml',
      undefined,
    );
    fc.assert(
      fc.property(bytes, types, fc.constantFrom('auto', 'json', 'text'), fc.boolean(), (body, type, mode, needsJson) => {
        try {
          readBody(toResponse({ body, ...(type !== undefined && { headers: { 'content-type': type } }) }), mode as 'auto', needsJson);
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
          expect((error as Failure).kind).toBe('parse');
        }
      }),
      { numRuns: 600 },
    );
  });
});

/** Returns the CPU time in µs of the fastest of three runs, or of the first of ten that is fast enough. */
async function fastestOf(act: () => unknown, enough = 0): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < (enough === 0 ? 3 : 10) && fastest >= enough; run++) {
    const before = process.cpuUsage();
    await act();
    const { user, system } = process.cpuUsage(before);
    fastest = Math.min(fastest, user + system);
  }
  return fastest;
}

const repeated = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);

/** The growth of the time that a test accepts when a text becomes four times as long: 4 if it is linear, 16 if it is quadratic. */
const mostGrowth = 10;

/**
 * Returns the growth of the time when a text becomes four times as long. If a text fails at once, its time is only noise, so `plain`, the
 * time to read ordinary text, counts instead.
 */
async function growth(read: (length: number) => unknown, plain: (length: number) => unknown): Promise<number> {
  const length = 150_000;
  const least = Math.max(await fastestOf(() => plain(length)), await fastestOf(() => read(length)));
  return (await fastestOf(() => read(4 * length), mostGrowth * least)) / least;
}

const heads = { xml: ['', '<a>', '<a b="', '<!DOCTYPE a ['], csv: ['', 'a,b\n', '"'], rows: ['', '"'] };

describe('the time to read an answer grows linearly with its length', () => {
  test.each((['xml', 'csv', 'rows'] as const).flatMap((kind) => [...openings, ...odd].map((piece) => [kind, piece] as const)))(
    '%s of repeated %j',
    async (kind, piece) => {
      const parse = (text: string) => documents.parse(kind, text).catch(() => undefined);
      const plain = (length: number) => parse(kind === 'xml' ? `<a>${repeated('x', length)}</a>` : repeated('x', length));
      for (const head of heads[kind])
        expect(await growth((length) => parse(head + repeated(piece, length)), plain), `after ${head}`).toBeLessThan(mostGrowth);
    },
  );

  test.each(openings)('JSON of repeated %j', async (piece) => {
    const plain = (length: number) => readBodyOrFail(`"${repeated('x', length)}"`);
    expect(await growth((length) => readBodyOrFail(repeated(piece, length)), plain)).toBeLessThan(mostGrowth);
  });
});

function readBodyOrFail(body: string): void {
  try {
    readBody(toResponse({ body, headers: { 'content-type': 'application/json; charset=latin1' } }), 'auto', true);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
}
