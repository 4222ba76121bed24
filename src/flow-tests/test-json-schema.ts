import { dialect, type JsonSchema, toJsonSchema } from '../flow/json-schema.ts';
import { testFileSchema } from './test-schema.ts';

/** The other variants of a test refer to this path. */
const answersOfFirst = '#/properties/tests/items/anyOf/0/properties/answers';

export function testJsonSchema(): JsonSchema {
  const whole = toJsonSchema(testFileSchema);
  const tests = whole.properties?.tests as JsonSchema;
  const [first, ...others] = tests.items?.anyOf ?? [];
  const referring = others.map((variant) => ({ ...variant, properties: { ...variant.properties, answers: { $ref: answersOfFirst } } }));
  const items = { anyOf: [first as JsonSchema, ...referring] };
  return { $schema: dialect, title: 'automate tests', ...whole, properties: { ...whole.properties, tests: { ...tests, items } } };
}
