import * as z from 'zod';
import type { NodeType } from '../core/node.ts';
import { innerNodes } from '../core/options/expressions.ts';
import { name } from '../core/options/names.ts';
import { dictionary, representationOf } from '../core/value/dictionary.ts';
import { connectionSchema, flowSchema, mcpConnectionSchema, nodeSchema } from './schema.ts';

/** The keywords of JSON Schema (2020-12) that flow schemas use. */
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

/** Keywords that an option keeps when another schema describes it. */
const ownKeywords = new Set(['description', 'default']);

/** The JSON Schema of the text that a user may write. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema === innerNodes) jsonSchema.items = { $ref: nodesOfFlow };
      const representation = representationOf(zodSchema);
      if (!representation) return;
      for (const keyword of Object.keys(jsonSchema)) if (!ownKeywords.has(keyword)) delete jsonSchema[keyword];
      Object.assign(jsonSchema, toJsonSchema(representation));
    },
  });
  return described as JsonSchema;
}

/** A node inside another node has the schema of any node. */
const nodesOfFlow = '#/properties/nodes/items';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

/** The JSON Schema of the flow file, for editors. */
export function flowJsonSchema(nodeTypes: readonly NodeType[]): JsonSchema {
  const whole = flowSchema.extend({
    connections: dictionary(name, z.union([connectionSchema, mcpConnectionSchema]))
      .optional()
      .describe('named endpoints'),
    nodes: z.array(z.union(nodeTypes.map(nodeSchema))).min(1),
  });
  return { $schema: dialect, title: 'automate flow', ...toJsonSchema(whole) };
}

/** The names that a user may write at a place. If the schema has several variants, the variant with the written value's `type` counts. */
export function namesAt(schema: JsonSchema, path: readonly (string | number)[], written: unknown): string[] {
  const places = placesAt(schema, path);
  const chosen = places.filter((place) => isOfVariant(place, written));
  return [...new Set((chosen.length > 0 ? chosen : places).flatMap((place) => Object.keys(place.properties ?? {})))];
}

function isOfVariant({ properties = {} }: JsonSchema, written: unknown): boolean {
  const { type } = properties;
  return type?.const === undefined || (written as { type?: unknown } | undefined)?.type === type.const;
}

/** The values that a user may write at a place with a fixed list of values. */
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
