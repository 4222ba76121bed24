import * as z from 'zod';
import type { Expression } from '../core/condition/condition.ts';
import type { EvaluationClock } from '../core/condition/evaluation.ts';
import { Failure } from '../core/failure.ts';
import { type BuildContext, defineNode, type Node } from '../core/node.ts';
import { condition, fieldUses } from '../core/options/expressions.ts';
import type { Fields } from '../core/record.ts';
import { dictionary } from '../core/value/dictionary.ts';
import { membersOf, objectOf } from '../core/value/value.ts';
import type { SchemaCheck } from './schema-check.ts';
import { schemaFile, schemaOption } from './schema-option.ts';

const checkOptions = z.strictObject({
  rules: dictionary(z.string().min(1), condition)
    .default({})
    .describe('what must hold for a record: the reason that a record which breaks the rule gets, and a condition'),
  schema: schemaFile
    .optional()
    .describe('a file with a JSON Schema (draft 7 or 2020-12) that a record must fit; its path is relative to the flow'),
  action: z
    .enum(['reject', 'warn'])
    .default('reject')
    .describe('reject: a record that breaks a rule fails, with all its reasons; warn: the record continues, and is counted'),
});

export const check = defineNode({
  name: 'check',
  summary: 'Check: refuses records that break a rule or do not fit a JSON Schema',
  example: `- type: check
  rules:
    "no e-mail address": email.contains("@")
    "age is not between 0 and 120": int(age) >= 0 && int(age) <= 120`,
  options: checkOptions,
  build: buildCheck,
});

function buildCheck({ rules, schema: file, action }: z.output<typeof checkOptions>, context: BuildContext): Node | undefined {
  const all = membersOf(rules);
  if (all.length === 0 && file === undefined) {
    context.missing(['rules', 'schema'], 'a check needs rules, or the schema of a record');
    return undefined;
  }
  for (const [name, rule] of all) context.warnOfCells(['rules', name], rule);
  const schema = schemaOption('schema', file, context.isCell(''), context);
  const ofCells = schema && context.mayBeCells ? schemaOption('schema', file, true, context) : undefined;
  const nameOf = namesIn(schema, context);
  return {
    reads: all.flatMap(([name, rule]) => fieldUses(rule, ['rules', name])),
    ...(schema && { readsAny: true }),
    columns: (before) => [...before],
    rules: [...all.map(([name]) => name), ...(file === undefined ? [] : [file])],
    // A record that the check refuses has no rows to remember.
    rowsAtOnce: (fields) => [fields],
    async run(fields, runContext) {
      const broken = all.flatMap(([name, rule]) => brokenRule(name, rule, fields, runContext.clock));
      const misfit = (ofCells && areCells(fields) ? ofCells : schema)?.problem(
        objectOf([...fields].map(([name, value]) => [nameOf.get(name) ?? name, value])),
      );
      if (misfit !== undefined) broken.push({ name: file as string, reason: `${file}: ${misfit}` });
      if (broken.length === 0) return [fields];
      runContext.report({ type: 'rules-broken', rules: broken.map(({ name }) => name) });
      if (action === 'reject') throw new Failure('check', broken.map(({ reason }) => reason).join('; '), { sent: false });
      return [fields];
    },
  };
}

/** The columns that the schema names as the files do, although the flow gives them other names: a schema can be older than the flow. */
function namesIn(schema: SchemaCheck | undefined, { names }: BuildContext): ReadonlyMap<string, string> {
  const isMeant = (alias: string, column: string) => schema?.members.has(column) && !schema.members.has(alias);
  return new Map([...names.entries()].filter(([alias, column]) => isMeant(alias, column)));
}

function areCells(fields: Fields): boolean {
  return [...fields.values()].every((value) => typeof value === 'string');
}

interface BrokenRule {
  readonly name: string;
  readonly reason: string;
}

/** A rule that cannot be evaluated counts as broken. */
function brokenRule(name: string, rule: Expression<boolean>, fields: Fields, clock: EvaluationClock): BrokenRule[] {
  try {
    return rule.evaluate(fields, clock) ? [] : [{ name, reason: name }];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return [{ name, reason: `${name} (${error.message})` }];
  }
}
