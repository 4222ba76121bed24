import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measure } from './child.mjs';
import { checkOutput } from './data.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The entry file of `automate`. */
export const binary = here('../bin/automate.js');

/** Returns the reason why `automate` cannot be measured; undefined if it can. */
export function automateProblem(node) {
  if (!existsSync(binary)) return 'bin/automate.js is not there yet';
  const { status, stderr } = spawnSync(node, [binary, '--version'], { encoding: 'utf8' });
  return status === 0
    ? undefined
    : `automate --version ended with ${status} (run the build first): ${/^.*Error.*$/m.exec(stderr)?.[0] ?? ''}`;
}

/** Returns the environment variables for `automate`, which keep its state in the bench's folder. */
export function automateEnv(folder) {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('AUTOMATE_'));
  return { ...Object.fromEntries(others), AUTOMATE_HOME: `${folder}/home`, NO_COLOR: '1' };
}

/**
 * Runs `automate` over the records, checks the output, and returns the measurements. `job`: `node`, `folder`, `input`,
 * `records`, `flow`, `origin`, `concurrency`, and optionally `nodeOptions`.
 */
export async function automate(job) {
  const output = `${job.folder}/automate.csv`;
  const measured = await measure([...runOf(job), '--out', output, '--force'], { env: automateEnv(job.folder) });
  return checked(measured, output, job);
}

/** Like `automate`, but stdout is redirected to a file. There are no checkpoints, because a stream cannot be truncated. */
export async function automateToStdout(job) {
  const output = `${job.folder}/automate-stdout.csv`;
  const stdout = openSync(output, 'w');
  const measured = await measure([...runOf(job), '--out', '-'], { env: automateEnv(job.folder), stdout });
  closeSync(stdout);
  return checked(measured, output, job);
}

function runOf({ node, nodeOptions = [], flow, input, concurrency }) {
  return [node, ...nodeOptions, binary, 'run', flow, '--in', input, '--concurrency', String(concurrency), '--quiet'];
}

/** Returns a contestant that runs a script in `peers` over the same records. */
export function script(name) {
  return async (job) => {
    const { node, folder, input, origin, concurrency } = job;
    const output = `${folder}/${name}.csv`;
    const command = [node, here(`peers/${name}.mjs`), input, output, origin, String(concurrency)];
    return checked(await measure(command), output, job);
  };
}

async function checked(measured, output, { records }) {
  await checkOutput(output, records);
  rmSync(output);
  return measured;
}

/** True if curl is installed and supports parallel transfers (7.66 or later). */
export function hasCurl() {
  return /--parallel-max/.test(spawnSync('curl', ['--help', 'all'], { encoding: 'utf8' }).stdout ?? '');
}

/** Runs curl as a contestant that only fetches: it reads no CSV, parses no JSON, and writes no rows. */
export async function curl({ folder, records, origin, concurrency }) {
  const config = `${folder}/curl.txt`;
  const output = `${folder}/curl.out`;
  const urls = Array.from({ length: records }, (_, index) => `url = "${origin}/users/${index + 1}"\noutput = "/dev/null"\n`);
  writeFileSync(config, `write-out = "%{http_code}\\n"\n${urls.join('')}`);
  const stdout = openSync(output, 'w');
  const measured = await measure(['curl', '-q', '-sS', '-Z', '--parallel-max', String(concurrency), '-K', config], { stdout });
  closeSync(stdout);
  const answered = readFileSync(output, 'utf8')
    .split('\n')
    .filter((status) => status === '200').length;
  if (answered !== records) throw new Error(`curl: expected ${records} answers, found ${answered}`);
  return measured;
}
