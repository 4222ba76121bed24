import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts the server in a separate process that uses this version of Node.js, passes it to `use`, and then stops it. */
export async function served(delayMs, use) {
  const child = fork(fileURLToPath(new URL('server.mjs', import.meta.url)), [String(delayMs)]);
  try {
    const [{ port }] = await once(child, 'message');
    return await use({ origin: `http://127.0.0.1:${port}`, cpuSeconds, meanDelayMs });
  } finally {
    child.kill();
  }

  async function usage() {
    child.send('usage');
    const [answer] = await once(child, 'message');
    return answer;
  }

  async function cpuSeconds() {
    const { user, system } = await usage();
    return (user + system) / 1e6;
  }

  /** Returns the mean delay in ms of the answers since the last call. */
  async function meanDelayMs() {
    return (await usage()).meanDelayMs;
  }
}

/** Like `served`, but for the server that answers batches and pages. `seen` returns the number of requests since its last call. */
export function servedFlows(pages, use) {
  return servedBy('flow-server.mjs', [String(pages)], use);
}

/** Like `served`, but for the server that runs jobs. `seen` returns the times from each answer to the next request, since its last call. */
export function servedJobs(use) {
  return servedBy('jobs-server.mjs', [], use);
}

async function servedBy(file, parameters, use) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), parameters);
  try {
    const [{ port }] = await once(child, 'message');
    return await use({ origin: `http://127.0.0.1:${port}`, seen });
  } finally {
    child.kill();
  }

  async function seen() {
    child.send('seen');
    return (await once(child, 'message'))[0];
  }
}
