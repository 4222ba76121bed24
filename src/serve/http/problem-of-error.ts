import type { FastifyError, FastifySchemaValidationError } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { AutomateError } from '../../core/failure.ts';
import { shortName } from '../../core/text/suggest.ts';
import { Problem } from '../problem.ts';

/** Maximum of a JSON body, in bytes. */
export const maxJsonBytes = 1024 * 1024;

const fullDisk: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/** Turns an error into a Problem. An error that is not the request's fault becomes `internal`. `takes`: the expected types of body. */
export function problemOfError(error: unknown, takes: readonly string[] = ['application/json']): Problem {
  if (error instanceof Problem) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalid(error.validationContext ?? 'request', error.validation);
  const { code = '', statusCode } = error as FastifyError;
  if ((error instanceof AutomateError && error.kind === 'output') || fullDisk.has(code))
    return new Problem('disk-full', 'the server cannot write what it has to keep');
  const known = byFastifyCode(code, takes);
  if (known) return known;
  if (code.startsWith('FST_') && statusCode !== undefined && statusCode < 500) return new Problem('bad-request', (error as Error).message);
  return new Problem('internal', 'this is a bug; the log of the server says more');
}

function byFastifyCode(code: string, takes: readonly string[]): Problem | undefined {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Problem('too-large', 'expected a body of at most 1 MB', { limit: maxJsonBytes });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new Problem('media-type', `expected a body of type ${takes.join(', ')}`, { expected: takes });
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY') return new Problem('bad-request', 'expected a body, found none');
  if (code === 'FST_ERR_BAD_URL') return new Problem('bad-request', 'the address is not a valid URL');
  return undefined;
}

/** Maximum of errors that an answer lists: a body can have any number of wrong members. */
const maxErrors = 20;

/** The problem of a body or query. `place`: the part of the request. */
function invalid(place: string, validation: readonly FastifySchemaValidationError[]): Problem {
  const all = validation.flatMap(({ keyword, instancePath, message = '', params }) => {
    const path = instancePath === '/' ? '' : shortName(instancePath);
    if (keyword !== 'unrecognized_keys') return [{ pointer: path, detail: inPlainWords(message) }];
    const keys = (params.keys as readonly string[]).slice(0, maxErrors);
    return keys.map((key) => ({ pointer: `${path}/${shortName(key)}`, detail: 'nothing of this name is expected' }));
  });
  const errors = all.slice(0, maxErrors);
  const details = errors.map(({ pointer, detail }) => (pointer === '' ? detail : `"${pointer.slice(1)}": ${detail}`));
  return new Problem('bad-request', `${place}: ${details.join('; ')}`, { errors });
}

/** The message of a check without the words of its library. */
function inPlainWords(message: string): string {
  return message
    .replace(/^Invalid (?:input|option): /, '')
    .replace(/, received undefined$/, ', found nothing')
    .replace('expected number, received ExactNumber', 'expected number, found a number with too many digits')
    .replace('received ExactNumber', 'received number')
    .replace(', received ', ', found ')
    .replace('expected nonoptional', 'expected a value');
}
