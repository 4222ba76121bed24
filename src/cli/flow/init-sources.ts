import { text as textOf } from 'node:stream/consumers';
import { AutomateError } from '../../core/failure.ts';
import { referableNames } from '../../core/template/template.ts';
import type { AnswerExample } from '../../starter/openapi/described-answer.ts';
import type { Example } from '../../starter/starter-references.ts';
import type { CredentialToStore } from '../../starter/starter-secrets.ts';
import type { ValuePath, WrittenRequest } from '../../starter/written-node.ts';
import { curlRequest } from './curl.ts';
import type { InitOptions } from './flow-options.ts';

/** The request from which `automate init` makes the first flow. */
interface SourceRequest {
  readonly request: WrittenRequest;
  /** Records of the input, if their fields still have to be inserted into the request; otherwise undefined. */
  readonly example: Example | undefined;
  /** Notes about parts of the source (such as a curl command) that the flow does not include. */
  readonly notes: readonly string[];
  /** True if the flow may be named after the URL's host. It is false if the host is only a placeholder. */
  readonly isNamedByHost: boolean;
  /** The description to write into the flow. */
  readonly description?: string;
  /** Comment lines to write above the node in the flow file. */
  readonly comments?: readonly string[];
  /** The paths of those values in the request that are only examples. */
  readonly examples?: readonly ValuePath[];
  readonly credentials?: readonly CredentialToStore[];
  /** True if the request needs a field that is not a column of the input. A note then says so. */
  readonly lacksColumns?: boolean;
  /** An example of the server's response. */
  readonly answer?: AnswerExample;
  /** An example for each value that the request takes from a record. */
  readonly samples?: ReadonlyMap<string, unknown>;
}

/**
 * Makes a request that fits the records of the input. `example` contains such records; undefined without an input. `isText` is true if all
 * fields are strings.
 */
type RequestSource = (example: Example | undefined, isText: boolean) => SourceRequest;

/** Throws an AutomateError (`usage`) if the options name two sources of the request, or use stdin twice. */
export function checkSources({ in: input, fromCurl, fromOpenapi, operation }: InitOptions): void {
  if (fromCurl !== undefined && fromOpenapi !== undefined)
    throw new AutomateError('usage', 'expected --from-curl or --from-openapi, found both');
  if (operation !== undefined && fromOpenapi === undefined)
    throw new AutomateError('usage', '--operation works only with --from-openapi FILE');
  if (input === '-' && fromCurl === '-') throw new AutomateError('usage', '--in and --from-curl both read stdin; only one of them can');
}

/**
 * Reads the source of the request that the options name. Throws an AutomateError (`usage`) if it contains no request that a flow can send.
 */
export async function requestSource({ fromCurl, fromOpenapi, operation }: InitOptions): Promise<RequestSource> {
  if (fromCurl !== undefined) {
    const read = curlRequest(fromCurl === '-' ? await textOf(process.stdin) : fromCurl);
    return (example) => ({ ...read, example, isNamedByHost: true });
  }
  if (fromOpenapi !== undefined) {
    const { operationSource } = await import('./openapi-file.ts');
    const requestFor = await operationSource(fromOpenapi, operation);
    // Fields of the records are matched by name only, because the values in the API's example do not come from a record.
    return (example, isText) => ({
      ...requestFor(example, isText),
      example: example && { ...example, fields: undefined },
      isNamedByHost: true,
    });
  }
  return (example) => ({ request: defaultRequest(example), example, notes: [], isNamedByHost: false });
}

/** Returns a request that fetches one item. The item's id is the first field that looks like an id, or else the first field. */
function defaultRequest(example: Example | undefined): WrittenRequest {
  const names = referableNames(example?.columns ?? []);
  const columns = [...names.keys()];
  const column = columns.find((name) => /^id$/i.test(name)) ?? columns.find((name) => /[_-]id$/i.test(name)) ?? columns[0] ?? 'id';
  return { method: 'GET', url: `https://api.example.com/items/{{${names.get(column) ?? column}}}`, headers: [] };
}
