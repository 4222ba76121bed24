import * as z from 'zod';
import type { NodeType } from '../core/node.ts';
import { nodeLists } from '../core/options/expressions.ts';
import { name } from '../core/options/names.ts';
import { dictionary, representationOf } from '../core/value/dictionary.ts';
import { connectionSchema, flowSchema, mcpConnectionSchema, nodeSchema } from './schema.ts';

/** The keywords of JSON Schema (2020-12) that occur in the schema of flows. */
export interface JsonSchema {
  readonly $schema?: string;
  readonly $ref?: string;
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly required?: readonly string[];
}

/** Kept if a different schema replaces an option's JSON Schema. */
const ownKeywords = new Set(['description', 'default']);

/** Describes what a user may write. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (nodeLists.has(zodSchema)) jsonSchema.items = { $ref: nodesOfFlow };
      const representation = representationOf(zodSchema);
      if (!representation) return;
      for (const keyword of Object.keys(jsonSchema)) if (!ownKeywords.has(keyword)) delete jsonSchema[keyword];
      Object.assign(jsonSchema, toJsonSchema(representation));
    },
  });
  return described as JsonSchema;
}

/** The schema of inner nodes refers to this path in the JSON Schema of a flow. */
const nodesOfFlow = '#/properties/nodes/items';

export const dialect = 'https://json-schema.org/draft/2020-12/schema';

/** Returns the JSON Schema of the flow file, for editors. */
export function flowJsonSchema(nodeTypes: readonly NodeType[]): JsonSchema {
  const whole = flowSchema.extend({
    connections: dictionary(name, z.union([connectionSchema, mcpConnectionSchema]))
      .optional()
      .describe('endpoints that nodes refer to by name, with URL, authentication and limits'),
    nodes: z.array(z.union(nodeTypes.map(nodeSchema))).min(1),
  });
  return { $schema: dialect, title: 'automate flow', ...toJsonSchema(whole) };
}

/** The names that a user may write at a path. The `type` in `written` selects the schema's variant. */
export function namesAt(schema: JsonSchema, path: readonly (string | number)[], written: unknown): string[] {
  const places = placesAt(schema, path);
  const chosen = places.filter((place) => isOfVariant(place, written));
  return [...new Set((chosen.length > 0 ? chosen : places).flatMap((place) => Object.keys(place.properties ?? {})))];
}

function isOfVariant({ properties = {} }: JsonSchema, written: unknown): boolean {
  const { type } = properties;
  return type?.const === undefined || (written as { type?: unknown } | undefined)?.type === type.const;
}

/** Returns the values that a user may write at a path; empty if the schema does not list them. */
export function choicesAt(schema: JsonSchema, path: readonly (string | number)[]): string[] {
  return [...new Set(placesAt(schema, path).flatMap((place) => (place.const === undefined ? [] : [String(place.const)])))];
}

function placesAt(schema: JsonSchema, path: readonly (string | number)[]): JsonSchema[] {
  let places: JsonSchema[] = variantsOf(schema);
  for (const step of path) {
    places = places.flatMap((place) => {
      const inner = typeof step === 'number' ? place.items : (place.properties?.[step] ?? place.additionalProperties);
      return typeof inner === 'object' ? variantsOf(inner) : [];
    });
  }
  return places;
}

function variantsOf(schema: JsonSchema): JsonSchema[] {
  const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return variants.length === 0 ? [schema] : variants.flatMap(variantsOf);
}
