// The server of the flow-control parts: POST /lookup answers a batch of ids, /jobs/ID is done at its sixth question, /pages?page=N has 100 items.
// Started with fork: `flow-server.mjs [PAGES]`; sends {port}, and on any message what it has seen since it was last asked.
import { createServer } from 'node:http';

const pages = Number(process.argv[2] ?? 1);
const questions = 6;
const text = 'an item with some text '.repeat(4);

let requests = 0;
/** By job: when its questions came and were answered. */
let jobs = new Map();

const server = createServer((request, response) => {
  requests++;
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/lookup') return lookup(request, response);
  if (url.pathname === '/pages') return answer(response, page(Number(url.searchParams.get('page') ?? 1)));
  const times = jobs.get(url.pathname) ?? [];
  jobs.set(url.pathname, times);
  times.push({ asked: performance.now() });
  answer(response, { status: times.length >= questions ? 'done' : 'working' });
  times.at(-1).answered = performance.now();
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 1024, () => process.send({ port: server.address().port }));
process.on('message', () => {
  const waits = [...jobs.values()].flatMap((times) => times.slice(1).map(({ asked }, index) => asked - times[index].answered));
  process.send({ requests, waits });
  requests = 0;
  jobs = new Map();
});
process.on('disconnect', () => process.exit());

function lookup(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { ids } = JSON.parse(Buffer.concat(chunks).toString());
    answer(response, { results: ids.map((id) => ({ id, name: `name of ${id}` })) });
  });
}

function page(number) {
  const items = Array.from({ length: 100 }, (_, index) => ({ id: number * 100 + index, text }));
  return { items, next: number < pages ? `/pages?page=${number + 1}` : null };
}

function answer(response, content) {
  const body = JSON.stringify(content);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
}
