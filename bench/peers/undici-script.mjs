// A well-written script: it streams input and output, limits its memory, and uses the fastest HTTP client for Node.js.
// Usage: undici-script.mjs IN OUT ORIGIN CONCURRENCY
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { stringify } from 'csv-stringify';
import { Agent, request } from 'undici';

const [input, output, origin, concurrency] = process.argv.slice(2);
const dispatcher = new Agent({ connections: Number(concurrency) });
const rows = createReadStream(input)
  .pipe(parse({ columns: true, bom: true }))
  [Symbol.asyncIterator]();
const out = stringify({ header: true });
out.setMaxListeners(0);
const written = pipeline(out, createWriteStream(output));

await Promise.all(Array.from({ length: Number(concurrency) }, worker));
out.end();
await written;
await dispatcher.close();

async function worker() {
  for (;;) {
    const { value: row, done } = await rows.next();
    if (done) return;
    const { statusCode, body } = await request(`${origin}/users/${encodeURIComponent(row.id)}`, { dispatcher });
    if (statusCode !== 200) throw new Error(`record ${row.id}: status ${statusCode}`);
    const json = await body.json();
    row['data.user.name'] = json.data?.user?.name ?? '';
    row['results[0].value'] = json.results?.[0]?.value ?? '';
    if (!out.write(row)) await once(out, 'drain');
  }
}
