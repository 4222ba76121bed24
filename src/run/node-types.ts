import type { LateNodeType, NodeType } from '../core/node.ts';

/** All node types, in the order in which they are listed for users. */
export const nodeTypes: readonly LateNodeType[] = [
  late('http', async () => (await import('../nodes/http/http.ts')).http),
  late('mcp', async () => (await import('../nodes/mcp/mcp.ts')).mcp),
  late('places', async () => (await import('../places/places-node.ts')).places),
  late('geocode', async () => (await import('../places/geocode/geocode.ts')).geocode),
  late('census', async () => (await import('../places/census/census.ts')).census),
  late('llm', async () => (await import('../nodes/llm/llm.ts')).llm),
  late('join', async () => (await import('../join/join.ts')).join),
  late('set', async () => (await import('../nodes/set.ts')).set),
  late('check', async () => (await import('../nodes/check.ts')).check),
  late('filter', async () => (await import('../nodes/filter.ts')).filter),
  late('first', async () => (await import('../nodes/first.ts')).first),
  late('loop', async () => (await import('../nodes/loop.ts')).loop),
  late('poll', async () => (await import('../nodes/poll.ts')).poll),
];

function late(name: string, load: () => Promise<NodeType>): LateNodeType {
  let loaded: NodeType | undefined;
  return {
    name,
    get loaded() {
      return loaded;
    },
    async load() {
      loaded ??= await load();
      return loaded;
    },
  };
}

export function loadNodeTypes(types: readonly LateNodeType[] = nodeTypes): Promise<readonly NodeType[]> {
  return Promise.all(types.map((type) => type.load()));
}

/** Loads the types whose names are in the text of a flow, so that it is compiled only once. The compiler loads a type that is missing. */
export async function loadNodeTypesIn(text: string): Promise<void> {
  await loadNodeTypes(nodeTypes.filter(({ name }) => text.includes(name)));
}
