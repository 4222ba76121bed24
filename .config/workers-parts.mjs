// What runs with workers need, and no others.
export * from '../src/app/workers/child.ts';
export * from '../src/app/workers/open-workers.ts';
