import { AutomateError, invalidOption } from '../../core/failure.ts';
import { didYouMean } from '../../core/text/suggest.ts';
import { plainName } from '../plain-name.ts';
import { listOf, type OpenApi, type Part, partOf, textIn } from './document.ts';

/** An operation (a method and a path) that an OpenAPI file describes. */
export interface Operation {
  /** The operationId; undefined if the operation has none. */
  readonly id: string | undefined;
  readonly method: string;
  readonly path: string;
  /** The object that describes the operation. It includes the parameters and servers of the operation's path. */
  readonly part: Part;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Returns the operations whose method a flow can use. */
function operationsOf({ root, at }: OpenApi): Operation[] {
  return Object.entries(partOf(root.paths)).flatMap(([path, item]) => {
    const { parameters, servers, ...own } = at(item);
    return methods.flatMap((method): Operation[] => {
      if (own[method] === undefined) return [];
      const part = at(own[method]);
      const all = [...listOf(parameters), ...listOf(part.parameters)];
      const id = textIn(part.operationId);
      return [{ id, method: method.toUpperCase(), path, part: { servers, ...part, parameters: all } }];
    });
  });
}

const maxListed = 200;

/**
 * Finds an operation by its operationId, or by method and path as in `GET /pets/{petId}`. If there is no such operation, throws an
 * AutomateError (`usage`) that lists all operations.
 */
export function operationNamed(document: OpenApi, name: string | undefined): Operation {
  const operations = operationsOf(document);
  const written = (name ?? '').trim().replace(/\s+/g, ' ').toLowerCase();
  const found =
    operations.find(({ id }) => id !== undefined && id === name) ??
    operations.find((operation) =>
      [operation.id ?? operationPlace(operation), operationPlace(operation)].some((own) => own.toLowerCase() === written),
    );
  if (found) return found;
  if (operations.length === 0)
    throw new AutomateError('input', `${document.file}: no operation with method GET, POST, PUT, PATCH or DELETE`);
  const choices = operations.map((operation) => operation.id ?? operationPlace(operation));
  const lines = operations.slice(0, maxListed).map((operation) => `  ${operationText(operation)}`);
  const more = operations.length > maxListed ? [`  and ${operations.length - maxListed} more`] : [];
  const list = [...lines, ...more].join('\n');
  if (name === undefined) throw invalidOption('operation', `expected the id of an operation in ${document.file}\n${list}`);
  throw new AutomateError('usage', `${document.file} has no operation "${name}"${didYouMean(name, choices)}\n${list}`);
}

function operationPlace({ method, path }: Operation): string {
  return `${method} ${path}`;
}

/** Returns one line about the operation, with its id, method and path. */
export function operationText(operation: Operation): string {
  const { id } = operation;
  return id === undefined ? operationPlace(operation) : `${plainName(id)}  ${operationPlace(operation)}`;
}
