import { type Document, isMap, isScalar, type Node } from 'yaml';
import { memberUses } from '../core/condition/condition.ts';
import { filled, optionAt, type WrittenScalar } from './fill-variables.ts';
import { visitScalars } from './scalars.ts';
import { isExpressionPlace } from './variable-places.ts';

/** In expressions, `record["First Name"]` becomes `record["first_name"]` for a column with this name in the flow. */
export function fillColumnNames(document: Document): ReadonlyMap<Node, WrittenScalar> {
  const written = new Map<Node, WrittenScalar>();
  const aliases = aliasesIn(document);
  if (aliases.size === 0) return written;
  visitScalars(document, ({ scalar, isAlias, ...place }) => {
    const text = scalar.value;
    if (typeof text !== 'string' || !text.includes('record') || isAlias) return;
    const option = optionAt(place, text);
    if (!isExpressionPlace(option) && option.names.join('.') !== 'serial_by.cel') return;
    const uses = memberUses(text, 'record').filter(({ name }) => aliases.has(name));
    if (uses.length === 0) return;
    const { text: value, writtenAt } = filled(text, uses, ({ name, start }) => {
      const member = `record[${JSON.stringify(aliases.get(name))}]`;
      return text.startsWith('has(', start) ? `has(record.${aliases.get(name)})` : member;
    });
    scalar.value = value;
    written.set(scalar, { value: text, writtenAt });
  });
  return written;
}

function aliasesIn(document: Document): ReadonlyMap<string, string> {
  const columns = isMap(document.contents) ? document.get('columns', true) : undefined;
  const pairs = isMap(columns) ? columns.items : [];
  return new Map(
    pairs.flatMap(({ key, value }) =>
      isScalar(key) && isScalar(value) && typeof value.value === 'string' ? [[value.value, String(key.value)] as const] : [],
    ),
  );
}
