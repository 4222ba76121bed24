// A well-written script for a batch endpoint: it collects rows, limits the batches in flight, and joins the answers by id.
// Usage: batch-script.mjs IN OUT ORIGIN CONCURRENCY
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import { Agent, request } from 'undici';

const [input, output, origin, concurrency] = process.argv.slice(2);
const size = 100;
const dispatcher = new Agent({ connections: Number(concurrency) });
const rows = createReadStream(input)
  .pipe(parse({ columns: true, bom: true }))
  [Symbol.asyncIterator]();
const out = stringify({ header: true });
out.setMaxListeners(0);
const written = pipeline(out, createWriteStream(output));

let reading = Promise.resolve();
await Promise.all(Array.from({ length: Number(concurrency) }, worker));
out.end();
await written;
await dispatcher.close();

/** Returns the next batch. Only one worker at a time collects a batch. */
function nextBatch() {
  const batch = reading.then(async () => {
    const gathered = [];
    while (gathered.length < size) {
      const { value, done } = await rows.next();
      if (done) break;
      gathered.push(value);
    }
    return gathered;
  });
  reading = batch;
  return batch;
}

async function worker() {
  for (;;) {
    const batch = await nextBatch();
    if (batch.length === 0) return;
    const { statusCode, body } = await request(`${origin}/lookup`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ids: batch.map((row) => row.id) }),
    });
    if (statusCode !== 200) throw new Error(`status ${statusCode}`);
    const { results } = await body.json();
    const names = new Map(results.map((result) => [result.id, result.name]));
    for (const row of batch) {
      row.name = names.get(row.id) ?? '';
      if (!out.write(row)) await once(out, 'drain');
    }
  }
}
