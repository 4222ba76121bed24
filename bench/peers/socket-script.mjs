// The least work per request that is possible in Node.js: plain sockets, and code for this server and this answer only. Its rate with a
// slow server is the maximum on this machine.
// Usage: socket-script.mjs IN OUT ORIGIN CONCURRENCY
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { connect } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';

const [input, output, origin, concurrency] = process.argv.slice(2);
const { hostname, port } = new URL(origin);
const rows = createReadStream(input)
  .pipe(parse({ columns: true, bom: true }))
  [Symbol.asyncIterator]();
const out = stringify({ header: true });
out.setMaxListeners(0);
const written = pipeline(out, createWriteStream(output));

await Promise.all(Array.from({ length: Number(concurrency) }, worker));
out.end();
await written;

async function worker() {
  const socket = connect({ host: hostname, port, noDelay: true });
  await once(socket, 'connect');
  for (;;) {
    const { value: row, done } = await rows.next();
    if (done) break;
    const json = await get(socket, `/users/${encodeURIComponent(row.id)}`);
    row['data.user.name'] = json.data?.user?.name ?? '';
    row['results[0].value'] = json.results?.[0]?.value ?? '';
    if (!out.write(row)) await once(out, 'drain');
  }
  socket.end();
}

/** Sends a GET request. The answer is small enough to arrive in one chunk. */
function get(socket, path) {
  return new Promise((resolve, reject) => {
    socket.once('data', (bytes) => {
      const text = bytes.toString();
      if (text.startsWith('HTTP/1.1 200 ')) resolve(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)));
      else reject(new Error(text));
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  });
}
