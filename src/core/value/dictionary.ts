import * as z from 'zod';

// A flow is checked once: generating code for the checks would take longer than it saves. Every schema of ours is made after this.
z.config({ jitless: true });

type Dictionary<Value extends z.ZodType> = z.ZodPipe<z.ZodUnknown, z.ZodTransform<Record<string, z.output<Value>>, unknown>>;

const representations = new WeakMap<z.core.$ZodType, z.ZodType>();

/** The members, in the order in which they were written, of objects that would have them in another. */
const written = new WeakMap<object, readonly (readonly [string, unknown])[]>();

/** An object with these members. `membersOf` knows their order, also where names are numbers, which an object puts first. */
export function objectOf<Value>(members: readonly (readonly [string, Value])[]): Record<string, Value> {
  const object = Object.fromEntries(members) as Record<string, Value>;
  if (members.some(([name]) => /^\d+$/.test(name))) written.set(object, members);
  return object;
}

/** An object's names and values as they were written. */
export function membersOf<Value>(object: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] {
  return (written.get(object) as (readonly [string, Value])[] | undefined) ?? Object.entries(object);
}

/** Names to values, `__proto__` among the names: zod's own record would leave that one out. */
export function dictionary<Value extends z.ZodType>(name: z.ZodString, value: Value): Dictionary<Value> {
  const schema = z.unknown().transform((input, context) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      context.issues.push({ code: 'invalid_type', expected: 'record', input });
      return z.NEVER;
    }
    const members = membersOf(input as Record<string, unknown>).map(([key, member]) => {
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

/** A schema that zod can describe in the place of one that it cannot; absent when it needs none. */
export function representationOf(schema: z.core.$ZodType): z.ZodType | undefined {
  return representations.get(schema);
}

/** Lets a schema be described as another. */
export function describedAs<Schema extends z.ZodType>(schema: Schema, representation: z.ZodType): Schema {
  representations.set(schema, representation);
  return schema;
}
