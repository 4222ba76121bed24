import { loadNodeTypes } from '../../src/run/node-types.ts';

export const nodeTypes = await loadNodeTypes();
