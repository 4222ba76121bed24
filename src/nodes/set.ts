import * as z from 'zod';
import type { Expression } from '../core/condition/condition.ts';
import type { EvaluationClock } from '../core/condition/evaluation.ts';
import { Failure } from '../core/failure.ts';
import { type BuildContext, defineNode, type FieldUse, type Node } from '../core/node.ts';
import { exactNumber } from '../core/options/amounts.ts';
import { expression, fieldUses } from '../core/options/expressions.ts';
import { fieldName } from '../core/options/names.ts';
import { copyOf, type Fields, pickedFields } from '../core/record.ts';
import { referencedFields, templateParts, valueTemplate } from '../core/template/template.ts';
import { dictionary } from '../core/value/dictionary.ts';
import { ExactNumber, membersOf, type Value } from '../core/value/value.ts';

const setOptions = z.strictObject({
  rename: dictionary(z.string(), fieldName)
    .default({})
    .describe('fields to rename: a mapping of old names to new ones; a renamed field keeps its position'),
  fields: dictionary(
    fieldName,
    z.union(
      [
        z.string(),
        z.number(),
        exactNumber,
        z.boolean(),
        z.null(),
        z.strictObject({ cel: expression.describe('an expression whose value is the field') }),
      ],
      {
        error: 'expected text with {{field}}, a number, true, false, null, or { cel: EXPRESSION }',
      },
    ),
  )
    .default({})
    .describe('fields to add or replace, each with a value, {{field}} or { cel: EXPRESSION }; they can use the old and the new names'),
  remove: z.array(z.string()).default([]).describe('fields to remove, after everything else'),
  keep: z
    .array(z.string())
    .min(1)
    .optional()
    .describe('the fields to keep: all others are removed, after everything else; later nodes can add more (default: keep all)'),
});

export const set = defineNode({
  name: 'set',
  summary: 'Set: adds, converts, renames, removes and keeps fields',
  example: `- type: set
  fields: { full_name: "{{first}} {{last}}", age: { cel: "int(age)" } }
  rename: { first-name: first_name }
  remove: [tmp]`,
  options: setOptions,
  build: buildSet,
});

type SetOptions = z.output<typeof setOptions>;

function buildSet(options: SetOptions, context: BuildContext): Node {
  for (const [index, name] of (options.keep ?? []).entries()) {
    if (options.remove.includes(name)) context.problem(['keep', index], `"${name}" is in both remove and keep`);
  }
  const renames = new Map(membersOf(options.rename));
  const targets = [...renames.values()];
  const kept = options.keep && new Set(options.keep);
  for (const [index, [from, to]] of [...renames].entries()) {
    if (targets.indexOf(to) < index) context.problem(['rename', from], `two fields are renamed to "${to}"`);
  }
  const oldNames = new Map([...renames].map(([from, to]) => [to, from]));
  const nameBefore = (field: string) => oldNames.get(field) ?? field;
  const isCell = (field: string) => context.isCell(nameBefore(field));
  for (const [name, written] of membersOf(options.fields)) {
    if (isExpression(written)) context.warnOfCells(['fields', name, 'cel'], written.cel, nameBefore);
  }
  const computed = membersOf(options.fields).map(([name, written]) => ({ name, ...compiledField(name, written, isCell) }));
  const typedTargets = targets.filter((field) => !isCell(field) && computed.every(({ name }) => name !== field));
  const made = new Set([...targets, ...computed.map(({ name }) => name)]);
  for (const [index, name] of (options.keep ?? []).entries()) {
    const to = renames.get(name);
    if (to !== undefined && !made.has(name)) context.problem(['keep', index], `"${name}" is renamed to "${to}"; keep "${to}"`);
  }
  return {
    reads: [
      ...[...renames.keys()].map((field) => ({ field, at: ['rename', field], isName: true })),
      ...computed.flatMap((field) => field.reads.filter((use) => ![...renames.values()].includes(use.field))),
      ...namedFields('remove', options.remove, made),
      ...namedFields('keep', options.keep ?? [], made),
    ],
    typedFields: [...typedTargets, ...computed.flatMap(({ name, isTyped }) => (isTyped ? [name] : []))],
    timedFields: membersOf(options.fields).flatMap(([name, written]) => (isExpression(written) && written.cel.usesNow ? [name] : [])),
    renames: new Map([...renames].filter(([, to]) => computed.every(({ name }) => name !== to))),
    columns: (before) => {
      const renamed = renamedNames(before, renames).map(([, name]) => name);
      const all = new Set([...renamed, ...targets, ...computed.map(({ name }) => name)]);
      return [...all].filter(stays);
    },
    rowsAtOnce: (fields, clock) => [apply(fields, clock)],
    run: async (fields, context) => {
      const missing = [...renames.keys()].filter((field) => !fields.has(field));
      if (missing.length > 0) context.report({ type: 'not-renamed', fields: missing });
      return [apply(fields, context.clock)];
    },
  };

  function apply(fields: Fields, clock: EvaluationClock): Fields {
    const renamed = renameAll(fields, renames);
    // Templates can refer to a renamed field by its old name and by its new one.
    const known = renames.size === 0 ? fields : new Map([...fields, ...renamed]);
    const result = copyOf(renamed);
    for (const { name, compute } of computed) result.set(name, compute(known, clock));
    for (const name of options.remove) result.delete(name);
    return kept ? pickedFields(result, kept) : result;
  }

  function stays(name: string): boolean {
    return !options.remove.includes(name) && (options.keep?.includes(name) ?? true);
  }
}

function namedFields(option: string, names: readonly string[], made: ReadonlySet<string>): FieldUse[] {
  return names.flatMap((field, index) => (made.has(field) ? [] : [{ field, at: [option, index] }]));
}

interface Computed {
  readonly reads: readonly FieldUse[];
  /** True if the value has a type, such as a number. Text made from the cells of a table has none. */
  readonly isTyped: boolean;
  compute(fields: Fields, clock: EvaluationClock): Value;
}

function compiledField(name: string, written: SetOptions['fields'][string], isCell: (field: string) => boolean): Computed {
  if (typeof written === 'string') {
    const [only, ...more] = templateParts(written);
    return {
      isTyped: typeof only === 'object' && more.length === 0 && !isCell(only.field),
      reads: referencedFields(written).map((field) => ({ field, at: ['fields', name] })),
      compute: valueTemplate(written),
    };
  }
  if (!isExpression(written)) return { isTyped: true, reads: [], compute: () => written };
  const { cel } = written;
  return {
    isTyped: cel.copied === undefined || !isCell(cel.copied),
    reads: fieldUses(cel, ['fields', name, 'cel']),
    compute: (fields, clock) => namingField(name, () => cel.evaluate(fields, clock)),
  };
}

/** Evaluates the value of a field. If that fails, adds the name of the field to the failure, because a node can have many expressions. */
function namingField(name: string, evaluate: () => Value): Value {
  try {
    return evaluate();
  } catch (error) {
    throw error instanceof Failure ? error.withMessage(`the field "${name}" cannot be made: ${error.message}`) : error;
  }
}

function isExpression(written: SetOptions['fields'][string]): written is { cel: Expression<Value> } {
  return typeof written === 'object' && written !== null && !(written instanceof ExactNumber);
}

function renameAll(fields: Fields, renames: ReadonlyMap<string, string>): Fields {
  if (renames.size === 0) return fields;
  return new Map(renamedNames([...fields.keys()], renames).map(([from, to]) => [to, fields.get(from) as Value]));
}

/** A renamed field keeps its position, and replaces another field that has its new name. */
function renamedNames(names: readonly string[], renames: ReadonlyMap<string, string>): [string, string][] {
  const targets = new Set(names.flatMap((name) => renames.get(name) ?? []));
  const remaining = names.filter((name) => renames.has(name) || !targets.has(name));
  return remaining.map((name) => [name, renames.get(name) ?? name]);
}
