// A well-written script that polls jobs. It limits the requests in flight, and waits for a fixed time after each answer. With `sockets`, it
// uses plain sockets and code for this server only, so its rate is the maximum on this machine.
// Usage: poll-script.mjs IN OUT ORIGIN CONCURRENCY EVERY_MS [undici|sockets]
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { connect } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import { Agent, request } from 'undici';

const [input, output, origin, concurrency, everyMs, client = 'undici'] = process.argv.slice(2);
const { ask, close } = { undici: undiciClient, sockets: socketClient }[client]();
const rows = await createReadStream(input)
  .pipe(parse({ columns: true, bom: true }))
  .toArray();
const waiting = [];
let free = Number(concurrency);

await Promise.all(rows.map(poll));
const out = stringify(rows, { header: true });
await pipeline(out, createWriteStream(output));
await close();

async function poll(row) {
  for (;;) {
    await enter();
    const { status } = await ask(`/jobs/${row.id}`);
    const answeredMs = performance.now();
    leave();
    row.status = status;
    if (status === 'done') return;
    await sleepUntil(answeredMs + Number(everyMs));
  }
}

function undiciClient() {
  const dispatcher = new Agent({ connections: Number(concurrency) });
  return { ask: async (path) => (await request(`${origin}${path}`, { dispatcher })).body.json(), close: () => dispatcher.close() };
}

function socketClient() {
  const { hostname, port } = new URL(origin);
  const idle = [];
  const ask = async (path) => {
    const socket = idle.pop() ?? (await connected(hostname, port));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
    // The answer is small enough to arrive in one chunk.
    const [bytes] = await once(socket, 'data');
    idle.push(socket);
    return JSON.parse(bytes.latin1Slice(bytes.indexOf('\r\n\r\n') + 4));
  };
  const close = () => {
    for (const socket of idle) socket.end();
  };
  return { ask, close };
}

async function connected(host, port) {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

/** Waits until a time. It can take several timers, because Node.js timers can fire up to a millisecond early. */
async function sleepUntil(untilMs) {
  for (;;) {
    const leftMs = untilMs - performance.now();
    if (leftMs <= 0) return;
    await setTimeout(Math.ceil(leftMs));
  }
}

function enter() {
  if (free > 0) {
    free--;
    return undefined;
  }
  return new Promise((resolve) => waiting.push(resolve));
}

function leave() {
  const next = waiting.shift();
  if (next) next();
  else free++;
}
