import type { FakeAnswer } from './fake-answer.ts';
import type { SentRequest } from './run-flow.ts';

/** The origin of the server that returns pages. */
export const origin = 'https://api.example.com';
/** The option `map` that reads the items of a page. */
export const map = 'map: { n: "items[].n" }';

/** Returns a flow whose first node requests pages. `more`: its other options, each as `, name: value`. `behind`: the nodes after it. */
export function paging(paginate: string, more = '', behind = '') {
  return `nodes:
  - { id: pages, type: http, url: "${origin}/{{id}}", paginate: { ${paginate} }, ${map}${more} }
${behind}`;
}

/** The options for each type of paging, as written in a flow. */
export const nextUrl = 'type: next_url, path: links.next';
export const cursor = 'type: cursor, path: next, param: cursor';
export const page = 'type: page, items: items';
export const offset = 'type: offset, size: 2, items: items';

/** Returns the two items of a page. */
export const itemsOf = (index: number) => [{ n: index * 2 }, { n: index * 2 + 1 }];

/**
 * Creates a server that returns this many pages of two items. The type of paging determines how pages are requested, and how a
 * page leads to the next.
 */
export type Server = (last: number, more?: FakeAnswer) => (request: SentRequest) => FakeAnswer;

const numberIn = ({ url }: SentRequest, name: string) => Number(new URL(url).searchParams.get(name) ?? 0);

export const byCursor: Server = (last, more) => (request) => {
  const index = numberIn(request, 'cursor');
  return { ...more, body: { items: itemsOf(index), next: index + 1 < last ? index + 1 : null } };
};
export const byUrl: Server = (last, more) => (request) => {
  const index = numberIn(request, 'p');
  return { ...more, body: { items: itemsOf(index), links: { next: index + 1 < last ? `?p=${index + 1}` : null } } };
};
export const byLink: Server = (last, more) => (request) => {
  const index = numberIn(request, 'p');
  const link = `<${origin}/x>; rel="prev", <?p=${index + 1}>; rel="next"`;
  const headers: Record<string, string> = index + 1 < last ? { link } : {};
  return { ...more, headers, body: { items: itemsOf(index) } };
};
export const byPage: Server = (last, more) => (request) => {
  const index = numberIn(request, 'page') - 1;
  return { ...more, body: { items: index < last ? itemsOf(index) : [] } };
};
export const byOffset: Server = (last, more) => (request) => {
  const index = numberIn(request, 'offset') / 2;
  return { ...more, body: { items: index < last ? itemsOf(index) : [] } };
};

/** For each type of paging: its name, its options, a server for it, and the number of requests for three pages. */
export const types: [string, string, Server, number][] = [
  ['next_url', nextUrl, byUrl, 3],
  ['cursor', cursor, byCursor, 3],
  ['link_header', 'type: link_header', byLink, 3],
  ['page', page, byPage, 4],
  ['offset', offset, byOffset, 4],
];

/** Returns these answers in turn. The last one is repeated. */
export function inTurn(...answers: readonly FakeAnswer[]): (request: SentRequest, index: number) => FakeAnswer {
  return (_, index) => answers[Math.min(index, answers.length - 1)] as FakeAnswer;
}
