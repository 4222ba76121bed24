import type { NodeType } from '../core/node.ts';
import { census } from './census/census.ts';
import { filter } from './filter.ts';
import { geocode } from './geocode/geocode.ts';
import { http } from './http/http.ts';
import { llm } from './llm/llm.ts';
import { loop } from './loop.ts';
import { mcp } from './mcp/mcp.ts';
import { places } from './places/places.ts';
import { poll } from './poll.ts';
import { set } from './set.ts';

/** All node types, in the order in which they are listed for users. */
export const nodeTypes: readonly NodeType[] = [http, mcp, places, geocode, census, llm, set, filter, loop, poll];
