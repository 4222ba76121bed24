import * as z from 'zod';
import { isMapping } from './value.ts';

// A flow is checked once: generating code for the checks would take longer than it saves. Every schema of ours is made after this.
z.config({ jitless: true });

type Dictionary<Value extends z.ZodType> = z.ZodPipe<z.ZodUnknown, z.ZodTransform<Record<string, z.output<Value>>, unknown>>;

const representations = new WeakMap<z.core.$ZodType, z.ZodType>();

/** The members of objects in their written order, for objects that would reorder them. */
const written = new WeakMap<object, readonly (readonly [string, unknown])[]>();

/** An object with these members. `membersOf` gives them in this order, even if names are numbers, which an object puts first. */
export function objectOf<Value>(members: readonly (readonly [string, Value])[]): Record<string, Value> {
  const object = Object.fromEntries(members) as Record<string, Value>;
  if (members.some(([name]) => /^\d+$/.test(name))) written.set(object, members);
  return object;
}

/** An object's names and values in their written order. */
export function membersOf<Value>(object: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] {
  return (written.get(object) as (readonly [string, Value])[] | undefined) ?? Object.entries(object);
}

/** A schema of names to values. It keeps `__proto__`, which zod's own record leaves out. */
export function dictionary<Value extends z.ZodType>(name: z.ZodString, value: Value): Dictionary<Value> {
  const schema = z.unknown().transform((input, context) => {
    if (!isMapping(input)) {
      context.issues.push({ code: 'invalid_type', expected: 'record', input });
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

/** The schema that stands for another in the JSON Schema. Undefined for most. */
export function representationOf(schema: z.core.$ZodType): z.ZodType | undefined {
  return representations.get(schema);
}

/** Describes a schema as another one in the JSON Schema. */
export function describedAs<Schema extends z.ZodType>(schema: Schema, representation: z.ZodType): Schema {
  representations.set(schema, representation);
  return schema;
}
