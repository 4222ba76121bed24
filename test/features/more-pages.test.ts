import { describe, expect, test } from 'vitest';
import type { Event } from '../../src/core/event.ts';
import type { FakeAnswer } from '../helpers/fake-answer.ts';
import { flowProblems } from '../helpers/flow-problems.ts';
import { runFlow, type SentRequest } from '../helpers/run-flow.ts';

type MorePages = Extract<Event, { readonly type: 'more-pages' }>;

/** Returns a flow whose node has these options. */
const flowOf = (url: string, options: string) => `nodes:\n  - { id: list, type: http, url: "https://a.example${url}", ${options} }\n`;

/** Runs a flow for these records. Returns its rows, and the events that say that there are more pages. */
async function rowsOf(flow: string, http: (request: SentRequest) => FakeAnswer, records: readonly object[] = [{}]) {
  const { rows, events, failures } = await runFlow(flow, records as never, { http });
  expect(failures).toEqual([]);
  return { rows, found: events.filter((event): event is MorePages => event.type === 'more-pages') };
}

/** Answers with two of six items, from the given one on. */
const page = (from: number, more: (isLast: boolean) => object): FakeAnswer => ({
  body: { ...more(from >= 4), data: from >= 6 ? [] : [{ id: from }, { id: from + 1 }] },
});

const query = ({ url }: SentRequest, name: string) => new URL(url).searchParams.get(name);
const numberIn = (request: SentRequest, name: string, otherwise = 0) => Number(query(request, name) ?? otherwise);
const sentBody = ({ body }: SentRequest) => JSON.parse(String(body));

const map = 'map: { id: "data[].id" }';
const post = `method: POST, body: { q: x }, ${map}`;

/** Kinds of APIs: the URL and the options of the node, the server, the sign, and the line that reads all pages. */
const kinds: [name: string, url: string, options: string, server: (request: SentRequest) => FakeAnswer, sign: string, line: string][] = [
  [
    'a Link header',
    '/x',
    map,
    (request) => {
      const from = numberIn(request, 'p') * 2;
      const headers: Record<string, string> = from < 4 ? { link: `</x?p=${from / 2 + 1}>; rel='next last'` } : {};
      return { ...page(from, () => ({})), headers };
    },
    'the Link header',
    '{ type: link_header }',
  ],
  [
    'the URL of the next page',
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'o'), (isLast) => ({ next: isLast ? null : `https://a.example/x?o=${numberIn(request, 'o') + 2}` })),
    'next',
    '{ type: next_url, path: next }',
  ],
  [
    'a relative URL next to a nested list',
    '/x',
    'map: { id: "result.data[].id" }',
    (request) => ({
      body: { result: page(numberIn(request, 'o'), (isLast) => ({ next: isLast ? '' : `?o=${numberIn(request, 'o') + 2}` })).body },
    }),
    'result.next',
    '{ type: next_url, path: result.next }',
  ],
  [
    'a cursor',
    '/x',
    map,
    (request) => page(numberIn(request, 'cursor'), (isLast) => ({ next: isLast ? null : `${numberIn(request, 'cursor') + 2}.0` })),
    'next',
    '{ type: cursor, path: next, param: cursor }',
  ],
  [
    'a cursor whose parameter is in the URL',
    '/x?after=0',
    map,
    (request) => page(numberIn(request, 'after'), (isLast) => ({ next: isLast ? null : `${numberIn(request, 'after') + 2}.0` })),
    'next',
    '{ type: cursor, path: next, param: after }',
  ],
  [
    'the number of the next page',
    '/x',
    map,
    (request) => page(numberIn(request, 'page', 1) * 2 - 2, (isLast) => ({ next: isLast ? null : numberIn(request, 'page', 1) + 1 })),
    'next',
    '{ type: cursor, path: next, param: page }',
  ],
  ...(['next_page_token:page_token', 'nextPageToken:pageToken'] as const).map((names): (typeof kinds)[number] => {
    const [name = '', param = ''] = names.split(':');
    const server = (request: SentRequest) =>
      page(numberIn(request, param), (isLast) => ({ [name]: isLast ? '' : `${numberIn(request, param) + 2}.0` }));
    return [name, '/x', map, server, name, `{ type: cursor, path: ${name}, param: ${param} }`];
  }),
  [
    'a token that a POST gets in its body',
    '/x',
    post,
    (request) =>
      page(Number(sentBody(request).pageToken ?? 0), (isLast) => ({
        nextPageToken: isLast ? null : `${Number(sentBody(request).pageToken ?? 0) + 2}.0`,
      })),
    'nextPageToken',
    '{ type: cursor, path: nextPageToken, param: pageToken, in: body }',
  ],
  ...['has_more', 'hasMore', 'has_next_page', 'hasNextPage'].map((name): (typeof kinds)[number] => [
    name,
    '/x',
    map,
    (request) => page(numberIn(request, 'page', 1) * 2 - 2, (isLast) => ({ [name]: !isLast })),
    name,
    `{ type: page, param: page, items: data, until: body.${name} == false }`,
  ]),
  [
    'a flag, and the number of the page in the URL',
    '/x?pageNo=0&per_page=2',
    map,
    (request) => page(numberIn(request, 'pageNo') * 2, (isLast) => ({ has_more: !isLast })),
    'has_more',
    '{ type: page, param: pageNo, start: 0, items: data, until: body.has_more == false }',
  ],
  [
    'a flag, and the limit in the URL',
    '/x?limit=2',
    map,
    (request) => page(numberIn(request, 'offset'), (isLast) => ({ has_more: !isLast })),
    'has_more',
    '{ type: offset, param: offset, size: 2, items: data, until: body.has_more == false }',
  ],
  [
    'a flag, and the offset in the answer',
    '/x',
    map,
    (request) => page(numberIn(request, 'offset'), (isLast) => ({ hasMore: !isLast, limit: 2, offset: numberIn(request, 'offset') })),
    'hasMore',
    '{ type: offset, param: offset, size: 2, items: data, until: body.hasMore == false }',
  ],
  [
    'a flag, and the offset in the URL',
    '/x?skip=0',
    map,
    (request) => page(numberIn(request, 'skip'), (isLast) => ({ has_more: !isLast })),
    'has_more',
    '{ type: offset, param: skip, size: 2, items: data, until: body.has_more == false }',
  ],
  [
    'a flag, and the cursor next to it, which the last page has, too',
    '/x',
    map,
    (request) => page(numberIn(request, 'cursor'), (isLast) => ({ hasMore: !isLast, nextCursor: `${numberIn(request, 'cursor') + 2}.0` })),
    'hasMore',
    '{ type: cursor, path: nextCursor, param: cursor, until: body.hasMore == false }',
  ],
  [
    'a flag of Stripe, whose next page begins after the last item',
    '/x',
    map,
    (request) => page(numberIn(request, 'starting_after', -1) + 1, (isLast) => ({ object: 'list', has_more: !isLast })),
    'has_more',
    '{ type: cursor, path: id, param: starting_after, from: last_item, items: data, until: body.has_more == false }',
  ],
  [
    'a flag in an object with an odd name',
    '/x',
    'map: { id: "[\\"a-b\\"].data[].id" }',
    (request) => ({ body: { 'a-b': page(numberIn(request, 'page', 1) * 2 - 2, (isLast) => ({ has_more: !isLast })).body } }),
    'a-b.has_more',
    '{ type: page, param: page, items: a-b.data, until: "body[\\"a-b\\"].has_more == false" }',
  ],
  ...['meta', 'paging', 'pagination', 'links', 'page_info', 'pageInfo'].map((name): (typeof kinds)[number] => [
    `the URL in ${name}`,
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'o'), (isLast) => ({
        [name]: { next: isLast ? null : `https://a.example/x?o=${numberIn(request, 'o') + 2}` },
      })),
    `${name}.next`,
    `{ type: next_url, path: ${name}.next }`,
  ]),
  [
    'a cursor in an object about paging next to a nested list',
    '/x',
    'map: { id: "result.data[].id" }',
    (request) => {
      const from = numberIn(request, 'cursor');
      return { body: { result: page(from, (isLast) => ({ meta: { next_cursor: isLast ? null : `${from + 2}.0` } })).body } };
    },
    'result.meta.next_cursor',
    '{ type: cursor, path: result.meta.next_cursor, param: cursor }',
  ],
  [
    'a flag in an object about paging, and the cursor next to it',
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'after'), (isLast) => ({
        page_info: { has_next_page: !isLast, end_cursor: `${numberIn(request, 'after') + 2}.0` },
      })),
    'page_info.has_next_page',
    '{ type: cursor, path: page_info.end_cursor, param: after, until: body.page_info.has_next_page == false }',
  ],
  [
    'the page info of GraphQL, whose query has a variable for the cursor',
    '/graphql',
    `method: POST, body: { query: "query ($c: String) { users(after: $c) { nodes { id } } }" }, map: { id: "data.users.nodes[].id" }`,
    (request) => {
      const from = Number(sentBody(request).variables?.c ?? 0);
      const pageInfo = { hasNextPage: from < 4, endCursor: `${from + 2}.0` };
      return { body: { data: { users: { nodes: [{ id: from }, { id: from + 1 }], pageInfo } } } };
    },
    'data.users.pageInfo.hasNextPage',
    '{ type: cursor, path: data.users.pageInfo.endCursor, param: variables.c, in: body, until: body.data.users.pageInfo.hasNextPage == false }',
  ],
  [
    'the cursor of Intercom',
    '/x',
    map,
    (request) => {
      const from = numberIn(request, 'starting_after');
      return page(from, (isLast) => ({ pages: { type: 'pages', ...(!isLast && { next: { page: 2, starting_after: `${from + 2}.0` } }) } }));
    },
    'pages.next.starting_after',
    '{ type: cursor, path: pages.next.starting_after, param: starting_after }',
  ],
  [
    'the URL of DigitalOcean',
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'o'), (isLast) => ({ links: { pages: isLast ? {} : { next: `/x?o=${numberIn(request, 'o') + 2}` } } })),
    'links.pages.next',
    '{ type: next_url, path: links.pages.next }',
  ],
  [
    'the flag of Zoho',
    '/x',
    map,
    (request) => page(numberIn(request, 'page', 1) * 2 - 2, (isLast) => ({ info: { page: 1, more_records: !isLast } })),
    'info.more_records',
    '{ type: page, param: page, items: data, until: body.info.more_records == false }',
  ],
  [
    'the token of Jira',
    '/x',
    map,
    (request) => {
      const from = numberIn(request, 'nextPageToken');
      return page(from, (isLast) => (isLast ? { isLast } : { isLast, nextPageToken: `${from + 2}.0` }));
    },
    'isLast',
    '{ type: cursor, path: nextPageToken, param: nextPageToken, until: body.isLast == true }',
  ],
  [
    'the token of Zoom',
    '/x',
    map,
    (request) => {
      const from = numberIn(request, 'next_page_token');
      return page(from, (isLast) => ({ page_size: 2, next_page_token: isLast ? '' : `${from + 2}.0` }));
    },
    'next_page_token',
    '{ type: cursor, path: next_page_token, param: next_page_token }',
  ],
  [
    'the counts of Algolia',
    '/x',
    map,
    (request) => page(numberIn(request, 'page') * 2, () => ({ page: numberIn(request, 'page'), nbPages: 3 })),
    'page',
    '{ type: page, param: page, start: 0, items: data, until: body.page + 1 >= body.nbPages }',
  ],
  ...[
    ['OData 4', '@odata.nextLink', '["@odata.nextLink"]'],
    ['OData 3', 'odata.nextLink', '["odata.nextLink"]'],
    ['Azure', 'nextLink', 'nextLink'],
    ['Zendesk', 'next_page', 'next_page'],
    ['Laravel', 'next_page_url', 'next_page_url'],
    ['Twilio', 'next_page_uri', 'next_page_uri'],
    ['Salesforce', 'nextRecordsUrl', 'nextRecordsUrl'],
  ].map(([api = '', name = '', path = '']): (typeof kinds)[number] => [
    `the URL of ${api}`,
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'o'), (isLast) => (isLast ? { done: true } : { done: false, [name]: `/x?o=${numberIn(request, 'o') + 2}` })),
    path,
    `{ type: next_url, path: ${path.startsWith('[') ? JSON.stringify(path) : path} }`,
  ]),
  [
    'the URL of OData 2',
    '/x',
    'map: { id: "d.data[].id" }',
    (request) => {
      const from = numberIn(request, '$skiptoken');
      return { body: { d: page(from, (isLast) => (isLast ? {} : { __next: `https://a.example/x?$skiptoken=${from + 2}` })).body } };
    },
    'd.__next',
    '{ type: next_url, path: d.__next }',
  ],
  ...[
    ['_links', 'href'],
    ['links', 'href'],
    ['paging', 'link'],
  ].map(([holder = '', name = '']): (typeof kinds)[number] => [
    `a link in ${holder} that is an object`,
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'o'), (isLast) => ({
        [holder]: { self: { [name]: '/x' }, ...(!isLast && { next: { [name]: `/x?o=${numberIn(request, 'o') + 2}`, title: 'next' } }) },
      })),
    `${holder}.next.${name}`,
    `{ type: next_url, path: ${holder}.next.${name} }`,
  ]),
  ...[
    ['FHIR', 'link', 'relation', 'url'],
    ['PayPal', 'links', 'rel', 'href'],
    ['Siren', '_links', 'rel', 'href'],
  ].map(([api = '', name = '', relation = '', address = '']): (typeof kinds)[number] => [
    `a list of links of ${api}, in which the link to the next page changes its place`,
    '/x',
    map,
    (request) => {
      const from = numberIn(request, 'o');
      const link = (to: string, o: number) => ({ [relation]: api === 'Siren' ? ['item', to] : to, [address]: `/x?o=${o}` });
      return page(from, (isLast) => ({
        [name]: [link('self', from), ...(from > 0 ? [link('previous', from - 2)] : []), ...(isLast ? [] : [link('next', from + 2)])],
      }));
    },
    name,
    `{ type: next_url, path: ${name} }`,
  ]),
  ...[
    ['Slack', 'response_metadata', 'next_cursor', 'cursor'],
    ['X', 'meta', 'next_token', 'next_token'],
    ['SendGrid', '_metadata', 'next_page_token', 'page_token'],
  ].map(([api = '', holder = '', name = '', param = '']): (typeof kinds)[number] => [
    `the cursor of ${api}`,
    '/x',
    map,
    (request) => page(numberIn(request, param), (isLast) => ({ [holder]: { [name]: isLast ? '' : `${numberIn(request, param) + 2}.0` } })),
    `${holder}.${name}`,
    `{ type: cursor, path: ${holder}.${name}, param: ${param} }`,
  ]),
  [
    'the cursor of Airtable',
    '/x',
    map,
    (request) => {
      const from = Number((query(request, 'offset') ?? 'itr/0').slice(4));
      return page(from, (isLast) => (isLast ? {} : { offset: `itr/${from + 2}` }));
    },
    'offset',
    '{ type: cursor, path: offset, param: offset }',
  ],
  [
    'a list of Notion',
    '/x',
    post,
    (request) => {
      const from = Number(sentBody(request).start_cursor ?? 0);
      return page(from, (isLast) => ({ object: 'list', has_more: !isLast, next_cursor: isLast ? null : `${from + 2}.0` }));
    },
    'has_more',
    '{ type: cursor, path: next_cursor, param: start_cursor, in: body, until: body.has_more == false }',
  ],
  [
    'a token of AWS',
    '/x',
    post,
    (request) => {
      const from = Number(sentBody(request).NextToken ?? 0);
      return page(from, (isLast) => (isLast ? {} : { NextToken: `${from + 2}.0` }));
    },
    'NextToken',
    '{ type: cursor, path: NextToken, param: NextToken, in: body }',
  ],
  [
    'the key of DynamoDB',
    '/x',
    post,
    (request) => {
      const from = Number(sentBody(request).ExclusiveStartKey?.id.N ?? 0);
      return page(from, (isLast) => (isLast ? {} : { LastEvaluatedKey: { id: { N: String(from + 2) } } }));
    },
    'LastEvaluatedKey',
    '{ type: cursor, path: LastEvaluatedKey, param: ExclusiveStartKey, in: body }',
  ],
  [
    'MediaWiki',
    '/x',
    map,
    (request) => {
      const from = Number((query(request, 'cmcontinue') ?? 'page|0').slice(5));
      return page(from, (isLast) => (isLast ? {} : { continue: { cmcontinue: `page|${from + 2}`, continue: '-||' } }));
    },
    'continue.cmcontinue',
    '{ type: cursor, path: continue.cmcontinue, param: cmcontinue }',
  ],
  [
    'a flag and a URL in different objects, which the last page has, too',
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'o'), (isLast) => ({ meta: { has_more: !isLast }, links: { next: `/x?o=${numberIn(request, 'o') + 2}` } })),
    'meta.has_more',
    '{ type: next_url, path: links.next, until: body.meta.has_more == false }',
  ],
  [
    'a flag and the next offset, two objects deep',
    '/x',
    map,
    (request) => {
      const start = numberIn(request, 'start');
      return page(start, (isLast) => ({
        additional_data: { pagination: { start, limit: 2, more_items_in_collection: !isLast, next_start: start + 2 } },
      }));
    },
    'additional_data.pagination.more_items_in_collection',
    '{ type: cursor, path: additional_data.pagination.next_start, param: start, until: body.additional_data.pagination.more_items_in_collection == false }',
  ],
  [
    'a flag that is true on the last page',
    '/x',
    map,
    (request) => {
      const start = numberIn(request, 'start');
      return page(start, (isLast) => ({ isLastPage: isLast, nextPageStart: isLast ? null : start + 2 }));
    },
    'isLastPage',
    '{ type: cursor, path: nextPageStart, param: start, until: body.isLastPage == true }',
  ],
  ...[
    ['meta', 'current_page', 'last_page'],
    ['result_info', 'page', 'total_pages'],
    ['pagination', 'page', 'pages'],
  ].map(([holder = '', number = '', total = '']): (typeof kinds)[number] => [
    `the number of pages in ${holder}`,
    '/x',
    map,
    (request) => page(numberIn(request, 'page', 1) * 2 - 2, () => ({ [holder]: { [number]: numberIn(request, 'page', 1), [total]: 3 } })),
    `${holder}.${number}`,
    `{ type: page, param: page, items: data, until: body.${holder}.${number} >= body.${holder}.${total} }`,
  ]),
  [
    'the number of pages two objects deep',
    '/x?pagination[page]=1',
    map,
    (request) => {
      const number = numberIn(request, 'pagination[page]', 1);
      return page(number * 2 - 2, () => ({ meta: { pagination: { page: number, pageCount: 3 } } }));
    },
    'meta.pagination.page',
    '{ type: page, param: "pagination[page]", items: data, until: body.meta.pagination.page >= body.meta.pagination.pageCount }',
  ],
  [
    'the number of pages of Spring, which counts from 0',
    '/x',
    map,
    (request) => page(numberIn(request, 'page') * 2, () => ({ page: { number: numberIn(request, 'page'), totalPages: 3 } })),
    'page.number',
    '{ type: page, param: page, start: 0, items: data, until: body.page.number + 1 >= body.page.totalPages }',
  ],
  [
    'the number of rows of Jira',
    '/x',
    map,
    (request) => page(numberIn(request, 'startAt'), () => ({ startAt: numberIn(request, 'startAt'), maxResults: 2, total: 6 })),
    'startAt',
    '{ type: offset, param: startAt, size: 2, items: data }',
  ],
  [
    'the number of rows, and the number of all rows twice',
    '/x',
    map,
    (request) => page(numberIn(request, 'offset'), () => ({ count: 6, offset: numberIn(request, 'offset'), limit: 2, total: 6 })),
    'offset',
    '{ type: offset, param: offset, size: 2, items: data }',
  ],
  [
    'the next offset, next to the number of rows',
    '/x',
    map,
    (request) =>
      page(numberIn(request, 'offset'), (isLast) => ({ next_offset: isLast ? null : numberIn(request, 'offset') + 2, total: 6 })),
    'next_offset',
    '{ type: cursor, path: next_offset, param: offset }',
  ],
  [
    'a list that is not split into rows',
    '/x',
    'map: { id: data }',
    (request) => page(numberIn(request, 'o'), (isLast) => ({ next: isLast ? null : `/x?o=${numberIn(request, 'o') + 2}` })),
    'next',
    '{ type: next_url, path: next }',
  ],
];

describe('an answer that is only the first page', () => {
  test.each(kinds)('is reported, and the line reads all pages when it is pasted: %s', async (_, url, options, server, sign, line) => {
    const first = await rowsOf(flowOf(url, options), server);
    expect(first.found).toEqual([expect.objectContaining({ node: 'list', record: 1, sign, paginate: `paginate: ${line}` })]);
    const whole = await rowsOf(flowOf(url, `${options}, ${first.found[0]?.paginate}`), server);
    expect(whole.rows.flatMap(({ id }) => (Array.isArray(id) ? id.map((one) => one.id) : id))).toEqual([0, 1, 2, 3, 4, 5]);
    expect(whole.found).toEqual([]);
    expect((await rowsOf(flowOf(url, `${options}, paginate: none`), server)).found).toEqual([]);
  });

  test('of a GraphQL query without a variable for the cursor is reported with what the query needs', async () => {
    const options = 'method: POST, body: { query: "{ users { nodes { id } } }" }, map: { id: "data.users.nodes[].id" }';
    const answer = { body: { data: { users: { nodes: [{ id: 1 }], pageInfo: { hasNextPage: true } } } } };
    const line =
      'paginate: { type: cursor, path: data.users.pageInfo.endCursor, param: variables.after, in: body, until: body.data.users.pageInfo.hasNextPage == false }';
    const needs =
      'the query must also take the variable: query ($after: String) { list(after: $after) }, and select endCursor next to hasNextPage';
    const { found } = await rowsOf(flowOf('/graphql', options), () => answer);
    expect(found.map(({ paginate }) => paginate)).toEqual([`${line} # ${needs}`]);
  });

  test('is reported once for each node', async () => {
    const two = `${flowOf('/x', map)}  - { id: other, type: http, url: "https://a.example/y", ${map} }\n`;
    const records = [{ n: 1 }, { n: 2 }, { n: 3 }];
    const { found } = await rowsOf(two, () => page(0, () => ({ has_more: true })), records);
    expect(found.map(({ node }) => node).sort()).toEqual(['list', 'other']);
  });

  test('is reported although only a later record has more pages', async () => {
    const server = ({ url }: SentRequest) => page(0, () => ({ next: url.endsWith('/3') ? '/x' : null }));
    const { found } = await rowsOf(flowOf('/{{n}}', map), server, [{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(found).toEqual([expect.objectContaining({ record: 3, sign: 'next' })]);
  });

  test.each<[string, string, FakeAnswer]>([
    ['nothing follows', map, page(0, () => ({ next: null, next_page_token: '', has_more: false, hasNextPage: false }))],
    ['the last page has a cursor, but the flag says so', map, page(0, () => ({ has_more: false, next: 'abc' }))],
    ['the cursor is 0', map, page(0, () => ({ next: 0 }))],
    ['the member has another form', map, page(0, () => ({ next: { a: 1 }, has_more: 'no' }))],
    ['the member is elsewhere', map, page(0, () => ({ other: { next: '/x' } }))],
    ['the flag in an object about paging says so', map, page(0, () => ({ page_info: { has_next_page: false, end_cursor: 'x' } }))],
    [
      'the last page has a URL, but the flag in another object says so',
      map,
      page(0, () => ({ meta: { has_more: false }, links: { next: '/x' } })),
    ],
    [
      'a flag at the top says so, and the cursor is next to the list',
      'map: { id: "x.data[].id" }',
      { body: { has_more: false, x: page(0, () => ({ next: 'abc' })).body } },
    ],
    [
      'a flag next to the list says so, and the cursor is at the top',
      'map: { id: "x.data[].id" }',
      { body: { next: 'abc', x: page(0, () => ({ has_more: false })).body } },
    ],
    ['it is the last page of several', map, page(0, () => ({ meta: { current_page: 3, last_page: 3 } }))],
    ['the server says that there is no next page, next to counts', map, page(0, () => ({ next: null, page: 1, pages: 3 }))],
    ['all rows are there', map, page(0, () => ({ offset: 0, limit: 2, total: 2 }))],
    ['the page would hold more rows than there are', map, page(0, () => ({ offset: 0, limit: 50, total: 12 }))],
    [
      'another list of the answer has all rows',
      'map: { id: "notes[].id" }',
      { body: { startAt: 0, maxResults: 5, total: 5, data: [1, 2, 3, 4, 5], notes: [{ id: 0 }] } },
    ],
    ['the page has no size', map, page(0, () => ({ offset: 0, limit: null, total: 12 }))],
    ['the cursor is 0 in text', map, page(0, () => ({ next_cursor: '0', next: '-1', nextToken: 'null' }))],
    ['the next offset is that of no row', map, page(0, () => ({ meta: { offset: 0, limit: 10, total: 2, next_offset: 10 } }))],
    ['the next page is none of the pages', map, page(0, () => ({ page: 1, pages: 1, next_page: 2 }))],
    ['a count next to the number of the page is that of its rows', map, page(0, () => ({ page: 1, page_count: 2, total: 2 }))],
    ['the offset is that of a time zone', map, page(0, () => ({ offset: '+02:00', meta: { offset: 'UTC-5' } }))],
    ['there is only a total', map, page(0, () => ({ total: 1200 }))],
    ['the pages are those of a document', map, page(0, () => ({ number: 7, pages: 300 }))],
    ['the offset is that of this page', map, page(0, () => ({ offset: '20' }))],
    ['Facebook has cursors, but no next page', map, page(0, () => ({ paging: { cursors: { before: 'a', after: 'b' } } }))],
    ['a list of links has no link to the next page', map, page(0, () => ({ link: [{ relation: 'self', url: '/x' }] }))],
    ['a list of links is empty', map, page(0, () => ({ links: [] }))],
    ['the links are texts', map, page(0, () => ({ links: ['next', '/x?o=2'] }))],
    ['the link to the next page has no URL', map, page(0, () => ({ _links: { next: { title: 'x' }, self: { href: '/x' } } }))],
    ['the object about paging belongs to another part', map, page(0, () => ({ user: { meta: { next: '/x' } } }))],
    ['the link leads to the last page', map, { ...page(0, () => ({})), headers: { link: '</x?p=9>; rel="last"' } }],
    [
      'the answer is one object',
      'map: { id: id, name: name }',
      { headers: { link: '</x/2>; rel="next"' }, body: { id: 1, name: 'x', next: '/x/2' } },
    ],
    ['only the first element is wanted', 'map: { id: "data[0].id" }', page(0, () => ({ next: '/x' }))],
    ['the map itself reads the cursor', 'map: { id: "data[].id", cursor: next }', page(0, () => ({ next: '/x' }))],
    [
      'the member belongs to another part of the answer',
      'map: { id: data, name: user.name }',
      page(0, () => ({ user: { name: 'x', next: '/x' } })),
    ],
    ['nothing is mapped', 'timeout: 5s', page(0, () => ({ next: '/x' }))],
    ['the mapped list is missing', 'map: { id: "rows[].id" }', page(0, () => ({ next: '/x' }))],
  ])('is not assumed if %s', async (_, options, answer) => {
    expect((await rowsOf(flowOf('/x', options), () => answer)).found).toEqual([]);
  });

  test('is not reported if a loop around the node requests the pages', async () => {
    const inner = `{ id: list, type: http, url: "https://a.example/x?page={{n}}", map: { id: "data[].id", more: has_more } }`;
    const count = '{ type: set, fields: { n: { cel: "n + 1" } } }';
    const flow = `nodes:\n  - { type: loop, while: more, carry: [n], nodes: [${count}, ${inner.replace('has_more', '$status')}] }\n`;
    const server = (request: SentRequest) => ({
      ...page(numberIn(request, 'page') * 2 - 2, () => ({})),
      headers: { link: '</x>; rel=next' },
    });
    const { found } = await rowsOf(flow.replace('while: more', 'while: n < 3'), server, [{ n: 0 }]);
    expect(found).toEqual([]);
  });
});

test('paginate that is neither none nor a mapping is reported at its position', () => {
  expect(flowProblems(flowOf('/x', 'paginate: off'))).toEqual([
    expect.objectContaining({ line: 2, message: 'expected none, or a mapping with the type of paging, found "off"' }),
  ]);
});
