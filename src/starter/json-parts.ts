import { isMapping } from '../core/value/value.ts';

/** An object in a file of another tool. Its members can be of any type, because real files often break the rules of their format. */
export type JsonPart = Readonly<Record<string, unknown>>;

export function partOf(value: unknown): JsonPart {
  return isMapping(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** In lower case and without parameters. */
export function mediaType(contentType: string): string {
  return (contentType.split(';')[0] as string).trim().toLowerCase();
}
