import { isLoopback } from '../../core/template/target.ts';
import { referencedFields } from '../../core/template/template.ts';
import { type Example, plainName, type Referring, withReferences } from './starter-references.ts';
import { type Cleaned, withoutSecrets } from './starter-secrets.ts';
import { nodeOf, type WrittenNode, type WrittenRequest, yamlOf } from './written-node.ts';

/** A flow to start from. */
export interface Starter extends Pick<Cleaned, 'credentials' | 'notes'> {
  readonly text: string;
  /** Whether a request differs from record to record. */
  readonly usesFields: boolean;
  /** Whether it goes to another machine without TLS. */
  readonly needsAllowHttp: boolean;
}

/** Makes a flow of one request, for the records of an example. Throws an AutomateError (`usage`) for what no flow can send. */
export function starterFlow(request: WrittenRequest, example?: Example): Starter {
  const referring = withReferences(nodeOf(request), example);
  const { node, ...told } = withoutSecrets(referring.node);
  return {
    ...told,
    text: textOf(node, referring, example),
    notes: [...referring.notes, ...told.notes],
    usesFields: referencedFields(JSON.stringify(node)).length > 0,
    needsAllowHttp: goesPlain(node.url),
  };
}

/** In the order of the documentation. */
function ordered({ type, method, url, auth, ...others }: WrittenNode): WrittenNode {
  return { type, ...(method === undefined ? {} : { method }), url, ...(auth ? { auth } : {}), ...others };
}

function textOf(node: WrittenNode, { renamed }: Referring, example: Example | undefined): string {
  const nodes = [...(renamed ? [{ type: 'set', rename: renamed }] : []), ordered(node)];
  const fields = example?.columns.length ? [`# The fields of ${plainName(example.name)}: ${listed(example.columns)}`] : [];
  const auth = node.auth ? [] : ['    # auth: { type: bearer, credential: my-token }  # kept by: automate credentials set my-token'];
  const map = '    # map: [name]  # the paths of what the answer is to add: automate test-request shows them';
  return `${[...fields, yamlOf(nodes).trimEnd(), ...auth, map].join('\n')}\n`;
}

const mostListed = 30;

function listed(columns: readonly string[]): string {
  const more = columns.length > mostListed ? [`and ${columns.length - mostListed} more`] : [];
  return [...columns.slice(0, mostListed).map(plainName), ...more].join(', ');
}

function goesPlain(url: string): boolean {
  if (!/^http:/i.test(url)) return false;
  const host = /^http:\/\/(\[[^\]]*\]|[^/?#:]*)/i.exec(url)?.[1] ?? '';
  return !isLoopback(host.toLowerCase());
}
