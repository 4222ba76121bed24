import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts the server in a process of its own, on this node whatever the contestants run on; hands it to `use` and stops it. */
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

  /** The mean of the answers since this was last asked. */
  async function meanDelayMs() {
    return (await usage()).meanDelayMs;
  }
}

/** Starts the server of batches and pages in the same way; `seen` tells how many requests came since it was last asked. */
export function servedFlows(pages, use) {
  return servedBy('flow-server.mjs', [String(pages)], use);
}

/** Starts the server of jobs in the same way; `seen` tells how long after each answer the next question came, since it was last asked. */
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
