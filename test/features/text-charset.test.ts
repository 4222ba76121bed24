import { describe, expect, test } from 'vitest';
import { flowProblems } from '../helpers/flow-problems.ts';
import { type GivenRecord, runFlow } from '../helpers/run-flow.ts';

const flow = (type: string, text = '{{x}}') =>
  `nodes:\n  - type: http\n    method: POST\n    url: https://api.example.com/\n    headers: { Content-Type: '${type}' }\n    text: '${text}'\n`;

const sent = async (yaml: string, record: GivenRecord) => {
  const { requests, failures } = await runFlow(yaml, [record]);
  const { body = '', encode } = requests[0] ?? {};
  return { bytes: requests.length === 0 ? undefined : [...(encode?.(body) ?? Buffer.from(body))], failures };
};

describe('a text whose content type states a charset', () => {
  test.each([
    ['text/plain; charset=iso-8859-1', 'ü', [0xfc]],
    ['text/plain;charset="ISO-8859-1"; format=flowed', 'ü', [0xfc]],
    ['text/plain; charset=latin1', '\u0085', [0x85]],
    ['text/plain; charset=windows-1252', 'ü€', [0xfc, 0x80]],
    ['text/plain; charset=iso-8859-15', '€', [0xa4]],
    ['text/plain; charset=windows-1251', 'Я', [0xdf]],
    ['text/plain; charset=us-ascii', 'u', [0x75]],
    ['text/plain; charset=UTF-8', 'ü', [0xc3, 0xbc]],
    ['text/plain', 'ü', [0xc3, 0xbc]],
    ['text/xml; charset=iso-8859-1', '{ü', [0x7b, 0xfc]],
  ])('is sent in it: %s, %s', async (type, x, bytes) => {
    const [before, after] = type.startsWith('text/xml') ? ['<a>', '</a>'] : ['', ''];
    const expected = [...Buffer.from(before), ...bytes, ...Buffer.from(after)];
    expect(await sent(flow(type, `${before}{{x}}${after}`), { x })).toEqual({ bytes: expected, failures: [] });
  });

  test('can be XML whose declaration states the charset', async () => {
    const xml = '<?xml version="1.0" encoding="ISO-8859-1"?><a>{{x}}</a>';
    const declared = await sent(flow('text/xml', xml), { x: 'ü' });
    expect(Buffer.from(declared.bytes ?? []).toString('latin1')).toBe(xml.replace('{{x}}', 'ü'));
    const labelled = await sent(flow('text/xml; charset=utf-8', xml), { x: 'ü' });
    expect(Buffer.from(labelled.bytes ?? []).toString()).toBe(xml.replace('{{x}}', 'ü'));
  });

  test.each([
    ['iso-8859-1', '5 €', '€ (U+20AC)'],
    ['us-ascii', 'ü', 'ü (U+00FC)'],
    ['windows-1252', '😀', '😀 (U+1F600)'],
    ['iso-8859-1', '\ud800', '(U+D800)'],
  ])('fails a record before anything is sent if the charset lacks a character: %s, %s', async (charset, x, character) => {
    const { bytes, failures } = await sent(flow(`text/plain; charset=${charset}`), { x });
    const message = `the text contains the character ${character}, which its charset ${charset} does not have`;
    expect([bytes, failures]).toEqual([undefined, [expect.objectContaining({ class: 'request', message })]]);
  });

  test.each(['shift_jis', 'utf-16', 'klingon'])('is a problem of the flow if a text cannot be sent in it: %s', (charset) => {
    const message = `a text cannot be sent in the charset "${charset}"\nwrite utf-8, or a charset with one byte per character such as iso-8859-1`;
    expect(flowProblems(flow(`text/plain; charset=${charset}`))).toMatchObject([{ line: 5, column: 51, message }]);
    if (charset === 'utf-16') return;
    const declared = flow('text/xml', `<?xml version="1.0" encoding="${charset}"?><a/>`);
    expect(flowProblems(declared)).toMatchObject([{ line: 6, column: 42, message }]);
  });
});
