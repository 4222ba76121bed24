import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Enough for a fast run: a larger space takes memory and saves no time. */
const maxBytes = 16 * 2 ** 20;

const checkEveryMs = 50;

/**
 * Limits the heap's space for young objects on Node 22 and later, where it grows without need: saves 66 of 239 MB on Node 24
 * and costs 3 % of the CPU. Node 20 has this limit itself.
 */
export function limitYoungGeneration(): void {
  if (Number.parseInt(process.versions.node, 10) < 22) return;
  const timer = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    if (young && young.space_size < maxBytes) return;
    setFlag('semi-space-growth-factor=1');
    clearInterval(timer);
  }, checkEveryMs);
  timer.unref();
}

/**
 * Limits the heap of a server: young objects as in a run, and old ones are collected once they have grown by half. V8 would wait for more
 * than twice as many, of which most are garbage. Saves 68 of 253 MB in a run of a million requests, and costs no time that could be
 * measured.
 */
export function limitServerHeap(): void {
  limitYoungGeneration();
  setFlag('heap-growing-percent=50');
}

function setFlag(flag: string): void {
  setFlagsFromString(`--${flag}`);
}
