import { isLoopback } from '../../core/template/target.ts';
import { referencedFields } from '../../core/template/template.ts';
import { randomValues } from './random-values.ts';
import { type Example, plainName, type Referring, withReferences } from './starter-references.ts';
import { type Cleaned, withoutSecrets } from './starter-secrets.ts';
import { nodeOf, type WrittenNode, type WrittenRequest, yamlOf } from './written-node.ts';

/** A flow to start from. */
export interface Starter extends Pick<Cleaned, 'credentials' | 'notes'> {
  readonly text: string;
  /** True if the request differs from record to record. */
  readonly usesFields: boolean;
  /** True if it goes to another machine without TLS. */
  readonly needsAllowHttp: boolean;
}

/** Makes a flow of one request, perhaps with a name, for the records of an example. Throws an AutomateError (`usage`) for a request that no flow can send. */
export function starterFlow(request: WrittenRequest, example?: Example, name?: string): Starter {
  const referring = withReferences(nodeOf(request), example);
  const { node, ...cleaned } = withoutSecrets(referring.node);
  return {
    ...cleaned,
    text: textOf(node, referring, { example, name }),
    notes: [...referring.notes, ...cleaned.notes, ...randomValues(node)],
    usesFields: referencedFields(JSON.stringify(node)).length > 0,
    needsAllowHttp: isPlainHttp(node.url),
  };
}

/** The options in the order of the documentation. */
function ordered({ type, method, url, auth, ...others }: WrittenNode): WrittenNode {
  return { type, ...(method === undefined ? {} : { method }), url, ...(auth ? { auth } : {}), ...others };
}

interface About {
  readonly example: Example | undefined;
  readonly name: string | undefined;
}

function textOf(node: WrittenNode, { renamed }: Referring, { example, name }: About): string {
  const nodes = [...(renamed ? [{ type: 'set', rename: renamed }] : []), ordered(node)];
  const fields = example?.columns.length ? [`# The fields of ${plainName(example.name)}: ${listed(example.columns)}`] : [];
  const auth = node.auth ? [] : ['    # auth: { type: bearer, credential: my-token }  # store it: automate credentials set my-token'];
  const map = '    # map: [name]  # paths in the answer; automate test-request lists them';
  return `${[...fields, yamlOf(nodes, name).trimEnd(), ...auth, map].join('\n')}\n`;
}

const maxListed = 30;

function listed(columns: readonly string[]): string {
  const more = columns.length > maxListed ? [`and ${columns.length - maxListed} more`] : [];
  return [...columns.slice(0, maxListed).map(plainName), ...more].join(', ');
}

function isPlainHttp(url: string): boolean {
  if (!/^http:/i.test(url)) return false;
  const host = /^http:\/\/(\[[^\]]*\]|[^/?#:]*)/i.exec(url)?.[1] ?? '';
  return !isLoopback(host.toLowerCase());
}
