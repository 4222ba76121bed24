// What runs with workers need, and no others.
export * from '../src/app/workers/child.ts';
export * from '../src/app/workers/open-queue.ts';
export * from '../src/app/workers/open-workers.ts';
export * from '../src/app/workers/queue-status.ts';
export * from '../src/app/workers/queue-worker.ts';
export * from '../src/app/workers/queue-workers.ts';
