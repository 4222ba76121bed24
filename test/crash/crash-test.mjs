// Kills runs, resumes them, and compares every byte with an uninterrupted run.
//   node test/crash/crash-test.mjs [--points N] [--kills N]
// points: kills at the k-th write, sync, truncate, open, rename or unlink of the run's own files (needs strace)
// kills: kill -9 after a random number of calls
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';

const { values } = parseArgs({ options: { points: { type: 'string', default: '6' }, kills: { type: 'string', default: '8' } } });
const wanted = { points: Number(values.points), kills: Number(values.kills) };

const bin = fileURLToPath(new URL('../../bin/automate.js', import.meta.url));
const watchedCalls = ['write', 'pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'openat', 'rename', 'unlink'];
const records = 1200;
/** The width of engine/window, which is the maximum number of calls that a crash can repeat. */
const windowSize = 1024;

/** The number of calls for each record. */
const asked = new Map();
/** Called at each call. */
let onCall = () => {};
const server = createServer((request, response) => {
  const id = request.url.slice(1);
  asked.set(id, (asked.get(id) ?? 0) + 1);
  onCall();
  setTimeout(
    () => {
      response.statusCode = Number(id) % 7 === 0 ? 404 : 200;
      response.end(JSON.stringify({ name: `name ${id}` }));
    },
    1 + (Number(id) % 3),
  );
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

const folder = mkdtempSync(join(tmpdir(), 'automate-crash-'));
const at = (name) => join(folder, name);
const kinds = [
  { name: 'CSV', input: 'rows.csv', out: 'out.csv', errors: 'out.errors.csv', more: [] },
  { name: 'NDJSON', input: 'rows.ndjson', out: 'out.ndjson', errors: 'out.errors.ndjson', more: [] },
  { name: 'JSON in gzip', input: 'rows.json', out: 'out.json.gz', errors: 'out.errors.json', more: [] },
  { name: 'CSV unordered', input: 'rows.csv', out: 'out.csv', errors: 'out.errors.csv', more: ['--unordered'] },
  { name: 'several CSVs', input: 'rows.1.csv', out: 'out.csv', errors: 'out.errors.csv', more: ['--in', at('rows.2.csv')] },
  { name: 'a list in JSON', input: 'wrapped.json', out: 'out.json', errors: 'out.errors.json', more: ['--records', 'data.items'] },
  { name: 'kept answers', input: 'rows.csv', out: 'out.csv', errors: 'out.errors.csv', more: ['--keep-answers'] },
  { name: 'pilot', input: 'rows.csv', out: 'out.csv', errors: 'out.errors.csv', more: ['--pilot', '900'] },
];
const table = [];
let failures = 0;
const expected = new Map();
try {
  writeInputs();
  for (const kind of kinds) {
    await runToEnd(kind);
    expected.set(kind, contents(kind));
    clear(kind);
  }
  if (wanted.points > 0) await enumeratePoints();
  await killAtRandom();
  printTable();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failures > 0 ? 1 : 0);

/** Kills runs and resumed runs at system calls that are spread evenly over the run. */
async function enumeratePoints() {
  if (spawnSync('strace', ['-o', '/dev/null', 'true']).status !== 0) {
    console.log('crash points: skipped, as there is no strace here that may trace');
    return;
  }
  const share = Math.ceil(wanted.points / 3);
  await pointsOf('points, CSV', kinds[0], share, async () => {});
  await pointsOf('points, JSON in gzip', kinds[2], share, async () => {});
  await pointsOf('points, CSV resumed', kinds[0], share, (kind) => killedAfter(kind, records / 3));
}

/** Kills runs at up to `most` of their system calls. `prepare`: creates the files with which the killed run starts. */
async function pointsOf(label, kind, most, prepare) {
  await prepare(kind);
  const all = await callsOf(kind);
  clear(kind);
  const row = newRow(label);
  for (const { call, when } of spread(all, most)) {
    await prepare(kind);
    asked.clear();
    const { signal } = await finished(traced(kind, ['-e', `inject=${call}:signal=KILL:when=${when}`]));
    // If the run makes fewer system calls this time, it ends by itself.
    await resumeAndCompare(kind, row, signal === 'SIGKILL' ? 1 : 0, `${call} ${when}`);
  }
}

async function killAtRandom() {
  for (const [index, kind] of kinds.entries()) {
    const row = newRow(`kill -9, ${kind.name}`);
    const share = Math.floor((wanted.kills + kinds.length - 1 - index) / kinds.length);
    while (row.kills < share) {
      asked.clear();
      let kills = 0;
      // Every third run is killed again while it is resumed.
      const rounds = row.kills % 3 === 2 ? Math.min(2, share - row.kills) : 1;
      for (let round = 0; round < rounds; round++) {
        const { signal } = await killedAfter(kind, Math.floor((Math.random() * records) / rounds));
        if (signal === 'SIGKILL') kills++;
      }
      await resumeAndCompare(kind, row, kills, 'kill -9');
    }
  }
}

/** Kills a run at its n-th call, or at a random moment of its start if n is 0. */
async function killedAfter(kind, count) {
  const run = start(kind);
  let left = count;
  onCall = () => {
    if (--left === 0) run.kill('SIGKILL');
  };
  if (count === 0) setTimeout(() => run.kill('SIGKILL'), Math.random() * 200);
  const end = await finished(run);
  onCall = () => {};
  return end;
}

async function resumeAndCompare(kind, row, kills, point) {
  const isUnfinished = existsSync(`${at(kind.out)}.automate-run`) || !existsSync(at(kind.out));
  const { code, stderr } = isUnfinished ? await runToEnd(kind) : { code: 4, stderr: '' };
  const found = contents(kind);
  const isSame = found.every((text, index) => asCompared(kind, text) === asCompared(kind, expected.get(kind)[index]));
  const ids = [...found.join('').matchAll(/id-(\d+)/g)].map(([, id]) => id);
  const lost = records - new Set(ids).size;
  const doubled = ids.length - new Set(ids).size;
  const leftovers = [
    ...['automate-run', 'automate-run.new', 'automate-lock'].map((ending) => `${kind.out}.${ending}`),
    `${kind.errors}.automate-lock`,
  ];
  const isClean = !leftovers.some((name) => existsSync(at(name)));
  const repeated = [...asked.values()].reduce((sum, count) => sum + count - 1, 0);
  row.kills += kills;
  row.identical += isSame ? kills : 0;
  row.lost += lost;
  row.doubled += doubled;
  row.repeated = Math.max(row.repeated, Math.ceil(repeated / Math.max(1, kills)));
  if (code !== 4 || !isSame || !isClean || lost > 0 || doubled > 0 || repeated > windowSize * kills) {
    failures++;
    const left = isClean ? '' : ', files left over';
    console.log(`FAILED at ${row.label}, ${point}: exit ${code}, ${lost} lost, ${doubled} doubled, ${repeated} repeated${left}\n${stderr}`);
  }
  clear(kind);
}

/** A pilot ends with exit code 5, and the next start of the run goes on. */
async function runToEnd(kind) {
  const end = await finished(start(kind));
  return end.code === 5 ? finished(start(kind)) : end;
}

function start(kind) {
  return spawn(process.execPath, [bin, ...argsOf(kind)], { stdio: ['ignore', 'ignore', 'pipe'], env: environment() });
}

function traced(kind, options) {
  const files = [kind.out, kind.errors, `${kind.out}.automate-run`, `${kind.out}.automate-run.new`].flatMap((name) => ['-P', at(name)]);
  const strace = ['-f', '-qq', '-o', at('trace'), ...files, '-e', `trace=${watchedCalls}`, ...options];
  return spawn('strace', [...strace, process.execPath, bin, ...argsOf(kind)], { stdio: ['ignore', 'ignore', 'pipe'], env: environment() });
}

/** Returns an environment in which all file operations run in one thread, because strace counts system calls per thread. */
function environment() {
  return { ...process.env, AUTOMATE_HOME: at('home'), UV_THREADPOOL_SIZE: '1' };
}

function argsOf(kind) {
  return ['run', at('flow.yaml'), '--in', at(kind.input), '--out', at(kind.out), '--quiet', '--resume', ...kind.more];
}

/** Returns the system calls of a run that is not killed, numbered separately for each name. */
async function callsOf(kind) {
  await finished(traced(kind, []));
  const seen = {};
  return [...readFileSync(at('trace'), 'utf8').matchAll(/^\d+\s+(\w+)\(/gm)].map(([, call]) => {
    seen[call] = (seen[call] ?? 0) + 1;
    return { call, when: seen[call] };
  });
}

function finished(child) {
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ code, signal, stderr })));
}

function contents(kind) {
  return [kind.out, kind.errors].map((name) => {
    if (!existsSync(at(name))) return '';
    const bytes = readFileSync(at(name));
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  });
}

/** Sorts the lines of an unordered output so that outputs can be compared. */
function asCompared(kind, text) {
  return kind.more.includes('--unordered') ? text.split('\n').sort().join('\n') : text;
}

function clear(kind) {
  for (const name of [kind.out, kind.errors]) {
    for (const ending of ['', '.automate-run', '.automate-run.new', '.automate-lock', '.automate-answers'])
      rmSync(at(name) + ending, { force: true });
  }
}

function writeInputs() {
  const ids = Array.from({ length: records }, (_, index) => index + 1);
  const rows = ids.map((id) => ({ id: String(id), note: `id-${id}` }));
  const csvOf = (some) => `id,note\n${some.map((id) => `${id},id-${id}\n`).join('')}`;
  writeFileSync(at('rows.csv'), csvOf(ids));
  writeFileSync(at('rows.1.csv'), csvOf(ids.slice(0, 500)));
  writeFileSync(at('rows.2.csv'), csvOf(ids.slice(500)));
  writeFileSync(at('rows.ndjson'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  writeFileSync(at('rows.json'), JSON.stringify(rows));
  writeFileSync(at('wrapped.json'), JSON.stringify({ total: records, data: { items: rows }, next: null }));
  const url = `http://127.0.0.1:${server.address().port}/{{id}}`;
  writeFileSync(at('flow.yaml'), `nodes:\n  - type: http\n    url: "${url}"\n    map: { name: name }\n`);
}

function spread(all, most) {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, index) => all[Math.floor((index * all.length) / most)]);
}

function newRow(label) {
  const row = { label, kills: 0, identical: 0, lost: 0, doubled: 0, repeated: 0 };
  table.push(row);
  return row;
}

function printTable() {
  const columns = {
    label: 'killed at',
    kills: 'kills',
    identical: 'identical',
    lost: 'lost',
    doubled: 'doubled',
    repeated: 'calls repeated per kill (maximum)',
  };
  for (const row of [columns, ...table]) {
    const { label, ...figures } = row;
    console.log(
      label.padEnd(24) +
        Object.values(figures)
          .map((figure) => String(figure).padStart(11))
          .join(''),
    );
  }
  const sum = (name) => table.reduce((total, row) => total + row[name], 0);
  console.log(`${sum('kills')} kills, ${sum('identical')} outputs as without them: ${sum('lost')} lost, ${sum('doubled')} doubled`);
}
