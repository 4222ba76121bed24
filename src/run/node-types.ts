import type { NodeType } from '../core/node.ts';
import { filter } from '../nodes/filter.ts';
import { http } from '../nodes/http/http.ts';
import { llm } from '../nodes/llm/llm.ts';
import { loop } from '../nodes/loop.ts';
import { mcp } from '../nodes/mcp/mcp.ts';
import { poll } from '../nodes/poll.ts';
import { set } from '../nodes/set.ts';
import { census } from '../places/census/census.ts';
import { geocode } from '../places/geocode/geocode.ts';
import { places } from '../places/places-node.ts';

/** All node types, in the order in which they are listed for users. */
export const nodeTypes: readonly NodeType[] = [http, mcp, places, geocode, census, llm, set, filter, loop, poll];
