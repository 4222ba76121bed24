// The server for the flow-control measurements: POST /lookup answers a batch of ids, and /pages?page=N returns 100 items.
// Started with fork: `flow-server.mjs [PAGES]`. Sends {port}, and in reply to any message the number of requests since the last message.
import { createServer } from 'node:http';

const pages = Number(process.argv[2] ?? 1);
const text = 'an item with some text '.repeat(4);

let requests = 0;

const server = createServer((request, response) => {
  requests++;
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/lookup') return lookup(request, response);
  answer(response, page(Number(url.searchParams.get('page') ?? 1)));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 1024, () => process.send({ port: server.address().port }));
process.on('message', () => {
  process.send(requests);
  requests = 0;
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
