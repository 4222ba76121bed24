import { readFile } from 'node:fs/promises';
import { operationNamed, readOpenApi } from '../starter/openapi/document.ts';
import { operationRequest } from '../starter/openapi/operation-request.ts';
import type { Example } from '../starter/starter-references.ts';
import { unreadableFile } from './source-file.ts';

/** Throws an AutomateError: `input` if the file cannot be read, `usage` if there is no such operation. */
export async function operationSource(file: string, name: string | undefined) {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw unreadableFile(file, error);
  });
  const document = await readOpenApi(text.replace(/^\uFEFF/, ''), file);
  const operation = operationNamed(document, name);
  return (example: Example | undefined, isText: boolean) => operationRequest(document, operation, { example, isText });
}
