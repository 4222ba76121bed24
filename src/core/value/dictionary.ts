import * as z from 'zod';
import { isMapping, membersOf, objectOf } from './value.ts';

// By default, zod generates code for each schema. Each flow is checked only once, so generating the code would take longer than it saves.
// This line runs before the schemas of flows are created.
z.config({ jitless: true });

type Dictionary<Value extends z.ZodType> = z.ZodPipe<z.ZodUnknown, z.ZodTransform<Record<string, z.output<Value>>, unknown>>;

const representations = new WeakMap<z.core.$ZodType, z.ZodType>();

/** Keeps a member named `__proto__`, which zod's own record schema drops. */
export function dictionary<Value extends z.ZodType>(name: z.ZodString, value: Value, error?: string): Dictionary<Value> {
  const schema = z.unknown().transform((input, context) => {
    if (!isMapping(input)) {
      context.issues.push({ code: 'invalid_type', expected: 'record', input, ...(error !== undefined && { message: error }) });
      return z.NEVER;
    }
    const members = membersOf<unknown>(input).map(([key, member]) => {
      const { error: wrongName } = name.safeParse(key);
      for (const { message } of wrongName?.issues ?? []) {
        context.issues.push({ code: 'custom', message, input: key, path: [key], params: { isName: true } });
      }
      const { data, error } = value.safeParse(member, { reportInput: true });
      for (const issue of error?.issues ?? []) context.issues.push({ ...issue, path: [key, ...issue.path] } as z.core.$ZodRawIssue);
      return [key, data] as const;
    });
    return objectOf(members) as Record<string, z.output<Value>>;
  });
  representations.set(schema, z.record(name, value));
  return schema;
}

/** The schema that replaces this one when the JSON Schema is generated. Checks and descriptions make a copy, so its parents count, too. */
export function representationOf(schema: z.core.$ZodType): z.ZodType | undefined {
  const { parent } = schema._zod;
  return representations.get(schema) ?? (parent && representationOf(parent));
}

/** Makes `representation` replace this schema when the JSON Schema is generated. Returns the schema itself. */
export function describedAs<Schema extends z.ZodType>(schema: Schema, representation: z.ZodType): Schema {
  representations.set(schema, representation);
  return schema;
}
