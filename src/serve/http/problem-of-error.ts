import type { FastifyError, FastifySchemaValidationError } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { AutomateError } from '../../core/failure.ts';
import { shortName } from '../../core/text/suggest.ts';
import { Problem } from '../problem.ts';

/** Maximum size in bytes of a request body in JSON. */
export const maxJsonBytes = 1024 * 1024;

const fullDisk: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Turns an error into a Problem that can be sent to the client. An error that the request did not cause becomes `internal`. `takes` lists
 * the media types that the route accepts.
 */
export function problemOfError(error: unknown, takes: readonly string[] = ['application/json']): Problem {
  if (error instanceof Problem) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalid(error.validationContext ?? 'request', error.validation);
  const { code = '', statusCode } = error as FastifyError;
  if ((error instanceof AutomateError && error.kind === 'output') || fullDisk.has(code))
    return new Problem('disk-full', 'the server cannot write its files');
  const known = byFastifyCode(code, takes);
  if (known) return known;
  if (code.startsWith('FST_') && statusCode !== undefined && statusCode < 500) return new Problem('bad-request', (error as Error).message);
  return new Problem('internal', "this is a bug; the server's log has the details");
}

function byFastifyCode(code: string, takes: readonly string[]): Problem | undefined {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Problem('too-large', 'expected a body of at most 1 MB', { limit: maxJsonBytes });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new Problem('media-type', `expected a body of type ${takes.join(', ')}`, { expected: takes });
  if (code === 'FST_ERR_CTP_EMPTY_JSON_BODY') return new Problem('bad-request', 'expected a body, found none');
  if (code === 'FST_ERR_BAD_URL') return new Problem('bad-request', 'the address is not a valid URL');
  return undefined;
}

/** Maximum number of errors that a response lists. An invalid body can contain more. */
const maxErrors = 20;

/** Returns the Problem of an invalid body or query. `place` names the part of the request that is not valid. */
function invalid(place: string, validation: readonly FastifySchemaValidationError[]): Problem {
  const all = validation.flatMap(({ keyword, instancePath, message = '', params }) => {
    const path = instancePath === '/' ? '' : shortName(instancePath);
    if (keyword !== 'unrecognized_keys') return [{ pointer: path, detail: inPlainWords(message) }];
    const keys = (params.keys as readonly string[]).slice(0, maxErrors);
    return keys.map((key) => ({ pointer: `${path}/${shortName(key)}`, detail: 'this name is not expected here' }));
  });
  const errors = all.slice(0, maxErrors);
  const details = errors.map(({ pointer, detail }) => (pointer === '' ? detail : `"${pointer.slice(1)}": ${detail}`));
  return new Problem('bad-request', `${place}: ${details.join('; ')}`, { errors });
}

/** Rewrites the message of a failed check in everyday words, without terms of the validation library. */
function inPlainWords(message: string): string {
  return message
    .replace(/^Invalid (?:input|option): /, '')
    .replace(/, received undefined$/, ', found nothing')
    .replace('expected number, received ExactNumber', 'expected number, found a number with too many digits')
    .replace('received ExactNumber', 'received number')
    .replace(', received ', ', found ')
    .replace('expected nonoptional', 'expected a value');
}
