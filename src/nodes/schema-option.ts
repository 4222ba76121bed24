import * as z from 'zod';
import { type BuildContext, DataNeeded } from '../core/node.ts';
import type { SchemaCheck } from './schema-check.ts';

export const schemaFile = z.string().min(1);

/** The code that checks schemas, once a flow has needed it. */
let library: typeof import('./schema-check.ts') | undefined;

/** Compiles the JSON Schema in a file. Undefined if there is none, or if a problem was reported. */
export function schemaOption(
  option: string,
  file: string | undefined,
  convertsText: boolean,
  context: BuildContext,
): SchemaCheck | undefined {
  if (file === undefined) return undefined;
  if (!library)
    throw new DataNeeded(async () => {
      library = await import('./schema-check.ts');
    });
  const text = context.fileText([option], file);
  if (text === undefined) return undefined;
  try {
    return new library.SchemaCheck(file, text, { convertsText, read: (path) => context.fileText([option], path) });
  } catch (error) {
    if (error instanceof library.SchemaError) context.problem([option], error.message);
    else if (!(error instanceof library.UnreadFile)) throw error;
    return undefined;
  }
}
