import { describe, expect, test } from 'vitest';
import type { Request } from '../../examples/servers/answers.mjs';
import { addressesOf, answerGeocoder, answerLine } from '../../examples/servers/geocoder.mjs';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { type FlowOptions, runFlow, type SentRequest } from '../helpers/run-flow.ts';

const parts = 'address: { street: "{{s}}", city: "{{c}}", state: IL, postcode: "{{z}}" }';
const flow = (options: string) => `nodes: [{ type: geocode, provider: census-us, ${parts}, ${options} }]`;

const lowered = ({ method, path, headers, body }: SentRequest): Request => ({
  ...{ method, path, body },
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
});

type Answerer = (asked: Request, index: number) => FakeAnswer;

async function run(
  options: string,
  records: readonly Record<string, unknown>[],
  answer: Answerer = answerGeocoder,
  more: FlowOptions = {},
) {
  const result = await runFlow(flow(options), records, { http: (request, index) => answer(lowered(request), index), ...more });
  const numbers = result.requests.map((request) => addressesOf(lowered(request))?.map(([number]) => Number(number)));
  return { ...result, numbers, lookedUp: result.events.filter(({ type }) => type === 'looked-up') };
}

const houses = (count: number) => Array.from({ length: count }, (_, index) => ({ s: `${100 + index} Main St`, c: 'Chicago', z: '60614' }));
const found = (rows: readonly Record<string, unknown>[]) => rows.map(({ geocode_name }) => String(geocode_name).split(' ')[0]);

/** Returns the lines of a correct response. */
const linesFor = (asked: Request) => (addressesOf(asked) ?? []).map((row) => answerLine(row, 'locations'));

describe('a geocode node with batches', () => {
  test('sends many addresses in one request for one credit, and assigns the results in any order', async () => {
    const { rows, requests, numbers, credits, lookedUp } = await run('batch: 100', houses(150));
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(
      Array(2).fill('POST https://geocoding.geo.census.gov/geocoder/locations/addressbatch'),
    );
    expect(numbers.map((list) => list?.length)).toEqual([100, 50]);
    expect(found(rows)).toEqual(houses(150).map(({ s }) => s.split(' ')[0]));
    expect(credits).toBe(2);
    expect(lookedUp).toHaveLength(150);
  });

  test('adds the census codes down to the block if the geographies option is set', async () => {
    const { rows, requests } = await run('batch: 10, geographies: true', houses(2));
    expect(requests[0]?.path).toBe('/geocoder/geographies/addressbatch');
    expect(rows).toMatchObject([
      { geocode_lat: 41.9, geocode_lon: -87.6, geocode_region: 'Illinois', fips_block: '170318391001100' },
      { geocode_lon: -87.601, fips_county: '17031', fips_tract: '17031839100' },
    ]);
  });

  test('leaves the fields empty for No_Match and Tie, and counts Tie as ambiguous', async () => {
    const records = [
      { s: '5 Main St', c: '', z: '60605' },
      { s: '1 Nowhere Rd', c: 'Chicago', z: '' },
    ];
    const { rows, lookedUp, failures } = await run('batch: 10, map: { m: match, x: doubt, lat: lat }', records);
    expect(rows).toMatchObject([
      { m: false, x: 'ambiguous', lat: null },
      { m: false, x: null, lat: null },
    ]);
    expect(failures).toEqual([]);
    expect(lookedUp).toMatchObject([{ match: false, ambiguous: '5 Main St, IL, 60605' }, { match: false }]);
    const rejected = await run('batch: 10, no_match: reject', records);
    expect(rejected.failures).toMatchObject([{ class: 'answer', message: 'no place fits "5 Main St, IL, 60605"' }, { class: 'answer' }]);
  });

  test('preserves quotes, commas, line breaks and control characters in an address', async () => {
    const records = [{ s: '100 Main St "Apt, 2"\n9,evil\r\n\t', c: 'Chicago', z: '--automate-addresses--' }, ...houses(1)];
    const { rows, requests } = await run('batch: 10', records);
    expect(addressesOf(lowered(requests[0] as SentRequest))).toEqual([
      ['1', '100 Main St "Apt, 2" 9,evil', 'Chicago', 'IL', '--automate-addresses--'],
      ['2', '100 Main St', 'Chicago', 'IL', '60614'],
    ]);
    expect(found(rows)).toEqual(['100', '100']);
  });

  test('leaves records without an address out of the batch', async () => {
    const { numbers, rows } = await run('batch: 10', [{ s: ' ', c: '', z: '' }, ...houses(2)]);
    expect(numbers).toEqual([[1, 2]]);
    expect(found(rows)).toEqual(['null', '100', '101']);
  });

  test('fails only the record whose address has no street, before the batch is sent', async () => {
    const { numbers, failures } = await run('batch: 10', [{ s: '', c: 'Chicago', z: '' }, ...houses(2)]);
    expect(numbers).toEqual([[1, 2]]);
    expect(failures).toMatchObject([
      { record: 1, class: 'request', message: 'expected a street, because census-us finds only houses, found none' },
    ]);
  });
});

describe('an incomplete response to a geocode batch', () => {
  test('makes the node request only the missing rows, at no further cost', async () => {
    const short: Answerer = (asked, index) => ({
      body: linesFor(asked)
        .slice(0, index === 0 ? 60 : 100)
        .join(''),
    });
    const { rows, numbers, credits, events } = await run('batch: 100', houses(100), short);
    expect(numbers.map((list) => list?.length)).toEqual([100, 40]);
    expect(numbers[1]?.[0]).toBe(61);
    expect(found(rows)).toEqual(houses(100).map(({ s }) => s.split(' ')[0]));
    expect(credits).toBe(1);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'call-retried', message: 'the answer lacks 40 of 100 records of the batch' }),
    );
  });

  test.each([1, 10, 30, 60, 80, 100, 120])(
    'is completed by a second request if it ends %i characters too early, within a line',
    async (cut) => {
      const cutOff: Answerer = (asked, index) => ({
        body: index === 0 ? linesFor(asked).join('').slice(0, -cut) : linesFor(asked).join(''),
      });
      const { rows, failures, credits } = await run('batch: 5', houses(5), cutOff);
      expect(failures).toEqual([]);
      expect(rows.map(({ geocode_lon }) => geocode_lon)).toEqual([-87.6, -87.601, -87.602, -87.603, -87.604]);
      expect(found(rows)).toEqual(['100', '101', '102', '103', '104']);
      expect(credits).toBe(1);
    },
  );

  test('makes the node retry up to 4 times, and then fails the records without a result', async () => {
    const { rows, numbers, failures, credits } = await run('batch: 5', houses(5), (asked, index) => ({
      body: index === 0 ? linesFor(asked).slice(0, 3).join('') : '',
    }));
    expect(numbers).toEqual([[1, 2, 3, 4, 5], ...Array(4).fill([4, 5])]);
    expect(found(rows)).toEqual(['100', '101', '102']);
    expect(failures).toMatchObject([
      { record: 4, class: 'answer', message: 'the answer lacks 2 of 5 records of the batch', attempts: 5 },
      { record: 5, class: 'answer', attempts: 5 },
    ]);
    expect(credits).toBe(1);
  });

  test('keeps the results already found if the server refuses a later attempt', async () => {
    const { rows, failures, requests } = await run('batch: 5', houses(5), (asked, index) =>
      index === 0 ? { body: linesFor(asked).slice(0, 3).join('') } : { status: 400, body: 'no' },
    );
    expect(requests).toHaveLength(2);
    expect(rows).toHaveLength(3);
    expect(failures).toMatchObject([{ record: 4, class: 'http', status: 400 }, { record: 5 }]);
  });

  test('keeps the results already found if the next attempt would wait longer than retry.max_wait', async () => {
    const retry = 'retry: { backoff: { initial: 10m, max: 10m }, max_wait: 1m }';
    const { rows, failures, requests } = await run(`batch: 5, ${retry}`, houses(5), (asked) => ({
      body: linesFor(asked).slice(0, 3).join(''),
    }));
    expect(requests).toHaveLength(1);
    expect(found(rows)).toEqual(['100', '101', '102']);
    const message = expect.stringMatching(
      /^the answer lacks 2 of 5 records of the batch \(the next attempt would wait .* retry.max_wait of 1 min\)$/,
    );
    expect(failures).toMatchObject([{ record: 4, class: 'answer', message }, { record: 5 }]);
  });

  test('makes the node retry as often as retry.max says', async () => {
    const { requests, failures } = await run('batch: 5, retry: { max: 1 }', houses(2), () => ({ status: 500 }));
    expect(requests).toHaveLength(2);
    expect(failures).toMatchObject([{ class: 'http', attempts: 2 }, { class: 'http' }]);
    expect((await run('batch: 5, retry: { backoff: 2s }', houses(2), () => ({ status: 500 }))).requests).toHaveLength(5);
  });

  test.each([
    ['a timeout of the gateway (504)', { status: 504, body: 'timeout' }],
    ['HTML with 200', { body: '<html>down</html>', headers: { 'content-type': 'text/html' } }],
    ['empty', { body: '' }],
  ])('makes the node request all rows once more if it is %s', async (_, bad) => {
    const { rows, requests, credits } = await run('batch: 5', houses(3), (asked, index) => (index < 3 ? bad : answerGeocoder(asked)));
    expect(requests).toHaveLength(4);
    expect(found(rows)).toEqual(['100', '101', '102']);
    expect(credits).toBe(1);
  });

  test('fails the records with the class "parse" if it is HTML in every attempt', async () => {
    const { failures, requests } = await run('batch: 5', houses(2), () => ({ body: '<html>down</html>' }));
    expect(requests).toHaveLength(5);
    expect(failures).toMatchObject([
      { class: 'parse', message: 'expected CSV, found no content type: <html>down</html>' },
      { class: 'parse' },
    ]);
  });

  test('does not cause a second request because of wrong row numbers, repeated rows or invalid lines', async () => {
    const { rows, requests } = await run('batch: 5', houses(2), (asked) => {
      const [first = '', second = ''] = linesFor(asked);
      return {
        body: `${first}"7","x","Match","Exact","7 X","1,2","3","L"\nnonsense, "\n\n${first}${second}`,
      };
    });
    expect(requests).toHaveLength(1);
    expect(found(rows)).toEqual(['100', '101']);
  });

  test('makes the node halve the batch if it is a refusal', async () => {
    const refuseFirst: Answerer = (asked) =>
      (addressesOf(asked) ?? []).some(([, street]) => street?.startsWith('100 ')) ? { status: 400, body: 'bad' } : answerGeocoder(asked);
    const { rows, failures } = await run('batch: 4', houses(4), refuseFirst);
    expect(failures).toMatchObject([{ record: 1, class: 'http', status: 400 }]);
    expect(found(rows)).toEqual(['101', '102', '103']);
  });
});
