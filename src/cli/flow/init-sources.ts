import { text as textOf } from 'node:stream/consumers';
import { AutomateError } from '../../core/failure.ts';
import type { ValuePath } from '../../flow/starter/example-marks.ts';
import { type Example, referableNames } from '../../flow/starter/starter-references.ts';
import type { NeededCredential } from '../../flow/starter/starter-secrets.ts';
import type { WrittenRequest } from '../../flow/starter/written-node.ts';
import { curlRequest } from './curl.ts';
import type { InitOptions } from './flow-options.ts';

/** The request that a first flow sends. */
interface SourceRequest {
  readonly request: WrittenRequest;
  /** The records, as far as the request is still to be matched with them. */
  readonly example: Example | undefined;
  /** Notes about the parts of the source that the flow does not have. */
  readonly notes: readonly string[];
  /** True if the host may name the flow: it is no placeholder. */
  readonly isNamedByHost: boolean;
  /** The description of the flow. */
  readonly description?: string | undefined;
  /** Lines to write above the node. */
  readonly comments?: readonly string[];
  /** The places of values that are only examples. */
  readonly examples?: readonly ValuePath[];
  readonly credentials?: readonly NeededCredential[];
  /** True if a field that the request needs is no column of the example. A note says so. */
  readonly lacksColumns?: boolean;
}

/** Makes the request for the records of an example. Absent: without an input. `isText`: true if all their fields are texts. */
type RequestSource = (example: Example | undefined, isText: boolean) => SourceRequest;

/** Throws an AutomateError (`usage`) for options that name two sources, or stdin twice. */
export function checkSources({ in: input, fromCurl, fromOpenapi, operation }: InitOptions): void {
  if (fromCurl !== undefined && fromOpenapi !== undefined)
    throw new AutomateError('usage', 'expected one of --from-curl and --from-openapi, found both');
  if (operation !== undefined && fromOpenapi === undefined)
    throw new AutomateError('usage', '--operation names an operation of an OpenAPI file: --from-openapi FILE');
  if (input === '-' && fromCurl === '-')
    throw new AutomateError('usage', '--in and --from-curl both read stdin; expected one of them there');
}

/** Reads the source that the options name. Throws an AutomateError (`usage`) if it is no request that a flow can send. */
export async function requestSource({ fromCurl, fromOpenapi, operation }: InitOptions): Promise<RequestSource> {
  if (fromCurl !== undefined) {
    const read = curlRequest(fromCurl === '-' ? await textOf(process.stdin) : fromCurl);
    return (example) => ({ ...read, example, isNamedByHost: true });
  }
  if (fromOpenapi !== undefined) {
    const { operationSource } = await import('./openapi-file.ts');
    const requestFor = await operationSource(fromOpenapi, operation);
    // Fields are matched by their names: an example's value says nothing about a record's.
    return (example, isText) => ({
      ...requestFor(example, isText),
      example: example && { ...example, fields: undefined },
      isNamedByHost: true,
    });
  }
  return (example) => ({ request: defaultRequest(example), example, notes: [], isNamedByHost: false });
}

/** A request for one item: by the field that looks like an id, else by the first field. */
function defaultRequest(example: Example | undefined): WrittenRequest {
  const names = referableNames(example?.columns ?? []);
  const columns = [...names.keys()];
  const column = columns.find((name) => /^id$/i.test(name)) ?? columns.find((name) => /[_-]id$/i.test(name)) ?? columns[0] ?? 'id';
  return { method: 'GET', url: `https://api.example.com/items/{{${names.get(column) ?? column}}}`, headers: [] };
}
