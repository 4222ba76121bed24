// What a competent script does to poll jobs: so many questions in flight, the next one so long after the answer.
// poll-script.mjs IN OUT ORIGIN CONCURRENCY EVERY_MS
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import { Agent, request } from 'undici';

const [input, output, origin, concurrency, everyMs] = process.argv.slice(2);
const dispatcher = new Agent({ connections: Number(concurrency) });
const rows = await createReadStream(input)
  .pipe(parse({ columns: true, bom: true }))
  .toArray();
const waiting = [];
let free = Number(concurrency);

await Promise.all(rows.map(poll));
const out = stringify(rows, { header: true });
await pipeline(out, createWriteStream(output));
await dispatcher.close();

async function poll(row) {
  for (;;) {
    await enter();
    const { body } = await request(`${origin}/jobs/${row.id}`, { dispatcher });
    const { status } = await body.json();
    const answeredMs = performance.now();
    leave();
    row.status = status;
    if (status === 'done') return;
    await sleepUntil(answeredMs + Number(everyMs));
  }
}

/** A timer may be early by up to a millisecond. */
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
