import { once } from 'node:events';
import { createReadStream, createWriteStream, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** The server's answer to every request. */
export const answer = {
  data: { user: { id: 4711, name: 'Ada Lovelace', email: 'ada@example.com', active: true, tags: ['math', 'engines'] } },
  results: [
    { value: 42, unit: 'points' },
    { value: 7, unit: 'points' },
  ],
  meta: { version: '2.1', took_ms: 3 },
};

/** The columns that every contestant adds, with their values. */
export const added = ['data.user.name', 'results[0].value'];
const addedCells = `,${answer.data.user.name},${answer.results[0].value}`;

/** Writes a CSV file with five columns. In every tenth record, one cell is quoted. */
export async function writeRecords(file, records) {
  const out = createWriteStream(file);
  out.write('id,email,first,last,city\n');
  for (let id = 1; id <= records; id++) {
    const city = id % 10 === 0 ? '"Washington, D.C."' : 'Reykjavík';
    if (!out.write(`${id},user${id}@example.com,First${id % 97},Last${id % 89},${city}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}

/** Writes the flow that does the same as the scripts. */
export function writeFlow(file, origin) {
  writeFileSync(
    file,
    `nodes:
  - type: http
    url: ${origin}/users/{{id}}
    map: [data.user.name, "results[0].value"]
`,
  );
}

/** Throws unless the output contains every record in full and exactly once, in any order. */
export async function checkOutput(file, records) {
  let lines = 0;
  let ids = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (lines++ === 0) expect(line === `id,email,first,last,city,${added.join(',')}`, `the header is ${line}`);
    else {
      expect(line.endsWith(addedCells), `line ${lines} is ${line}`);
      ids += Number.parseInt(line, 10);
    }
  }
  expect(lines === records + 1, `expected ${records} records, found ${lines - 1}`);
  expect(ids === (records * (records + 1)) / 2, 'records are missing or doubled');

  function expect(condition, problem) {
    if (!condition) throw new Error(`${file} is not what it should be: ${problem}`);
  }
}
