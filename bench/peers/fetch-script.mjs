// A typical script: reads the whole CSV into memory and uses global fetch in a pool of workers.
// Usage: fetch-script.mjs IN OUT ORIGIN CONCURRENCY
import { readFile, writeFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';

const [input, output, origin, concurrency] = process.argv.slice(2);
const rows = parse(await readFile(input), { columns: true });
let next = 0;

await Promise.all(Array.from({ length: Number(concurrency) }, worker));
await writeFile(output, stringify(rows, { header: true }));

async function worker() {
  while (next < rows.length) {
    const row = rows[next++];
    const response = await fetch(`${origin}/users/${encodeURIComponent(row.id)}`);
    if (!response.ok) throw new Error(`record ${row.id}: status ${response.status}`);
    const json = await response.json();
    row['data.user.name'] = json.data.user.name;
    row['results[0].value'] = json.results[0].value;
  }
}
