// Starts small servers for the examples, all on one port of this machine: they answer as the US census, its geocoder, the World Bank,
// Nominatim, Photon, Overpass and an OpenAI-compatible language model do. Their data are few, and most are invented.
//
//     node examples/servers/start.mjs [PORT]
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { answer } from './answers.mjs';

const server = createServer(async (request, response) => {
  const { method, url: path, headers } = request;
  const { status = 200, headers: own, body = '' } = answer({ method, path, headers, body: await text(request) });
  const isText = typeof body === 'string';
  response
    .writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...own })
    .end(isText ? body : JSON.stringify(body));
});

const port = Number(process.argv[2] ?? 4012);
server.on('error', ({ code, message }) => {
  console.error(code === 'EADDRINUSE' ? `port ${port} is in use; choose another: node start.mjs PORT` : message);
  process.exitCode = 1;
});
server.listen(port, '127.0.0.1', () => {
  console.log(`the servers of the examples listen on http://127.0.0.1:${server.address().port}; stop them with Ctrl-C`);
});
