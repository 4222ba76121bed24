import type { FlowResult } from './run-flow.ts';

/** Records with the ids 0, 1, 2, and so on. */
export const numberedRecords = (count: number): { id: number }[] => Array.from({ length: count }, (_, id) => ({ id }));

/** Returns a flow with one HTTP node. `more`: additional options of the node. */
export const httpFlow = (more = 'map: [a]'): string => `nodes: [{ type: http, url: "https://api.example.com/{{id}}", ${more} }]`;

/** Returns the start times of the requests in ms. */
export const startsOf = ({ requests }: Pick<FlowResult, 'requests'>): number[] => requests.map(({ atMs }) => atMs);
