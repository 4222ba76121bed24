import * as z from 'zod';

type Dictionary<Value extends z.ZodType> = z.ZodPipe<z.ZodUnknown, z.ZodTransform<Record<string, z.output<Value>>, unknown>>;

const representations = new WeakMap<z.core.$ZodType, z.ZodType>();

/** Names to values, `__proto__` among the names: zod's own record would leave that one out. */
export function dictionary<Value extends z.ZodType>(name: z.ZodString, value: Value): Dictionary<Value> {
  const schema = z.unknown().transform((written, context) => {
    if (typeof written !== 'object' || written === null || Array.isArray(written)) {
      context.issues.push({ code: 'invalid_type', expected: 'record', input: written });
      return z.NEVER;
    }
    const members = Object.entries(written).map(([key, member]) => {
      const { error: wrongName } = name.safeParse(key);
      for (const { message } of wrongName?.issues ?? []) {
        context.issues.push({ code: 'custom', message, input: key, path: [key], params: { isName: true } });
      }
      const { data, error } = value.safeParse(member, { reportInput: true });
      for (const issue of error?.issues ?? []) context.issues.push({ ...issue, path: [key, ...issue.path] } as z.core.$ZodRawIssue);
      return [key, data] as const;
    });
    return Object.fromEntries(members) as Record<string, z.output<Value>>;
  });
  representations.set(schema, z.record(name, value));
  return schema;
}

/** A schema that zod can describe in the place of one that it cannot; absent when it needs none. */
export function representationOf(schema: z.core.$ZodType): z.ZodType | undefined {
  return representations.get(schema);
}

/** Lets a schema be described as another. */
export function describedAs<Schema extends z.ZodType>(schema: Schema, representation: z.ZodType): Schema {
  representations.set(schema, representation);
  return schema;
}
