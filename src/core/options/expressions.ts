import * as z from 'zod';
import { compilePath, isFact, type Path } from '../answer/path.ts';
import {
  type AnswerCondition,
  type AnswerVariable,
  compileAnswerCondition,
  compileAnswerExpression,
  compileCondition,
  compileExpression,
  type Expression,
} from '../condition/condition.ts';
import type { ExpressionError } from '../condition/expression-error.ts';
import type { FieldUse } from '../node.ts';

/** A path of a `map`. The schema leaves it as a string, because the `map` compiles it. */
export const mapPath = pathSchema(() => undefined, 'expected a path (a mapping of names to paths has no dashes)');

/** A path into a response, for options other than `map`. */
export const path = pathSchema((written) => {
  if (isFact(written)) throw new Error(`only map reads ${written.text}; expected a path into the answer, $status or $headers.NAME`);
});

function pathSchema(check: (path: Path) => void, error?: string) {
  return z
    .string({ error })
    .superRefine((text, context) => {
      try {
        check(compilePath(text));
      } catch (error) {
        context.addIssue((error as Error).message);
      }
    })
    .meta({ title: 'path' });
}

/** YAML parses an unquoted `true` or `false` as a boolean, so booleans are accepted, too. */
export const condition = z
  .union([z.string(), z.boolean()], { error: 'expected a CEL expression such as status == "done"' })
  .transform((written, context) => compiledIn(() => compileCondition(String(written)), context))
  .meta({ title: 'condition' });

/** Only these variables are allowed in the condition. */
export function answerCondition(variables: readonly AnswerVariable[]) {
  return z
    .union([z.string(), z.boolean()], { error: 'expected a CEL expression such as has(body.errors)' })
    .transform((written, context) => compiledIn(() => compileAnswerCondition(String(written), variables), context))
    .meta({ title: 'condition' });
}

/** Only these variables are allowed in the expression. */
export function answerExpression(variables: readonly AnswerVariable[]) {
  return z
    .string()
    .transform((text, context) => compiledIn(() => compileAnswerExpression(text, variables), context))
    .meta({ title: 'expression' });
}

export const expression = z.string().transform((text, context) => compiledIn(() => compileExpression(text), context));

function compiledIn<Result>(compile: () => Result, context: z.RefinementCtx): Result {
  try {
    return compile();
  } catch (error) {
    const { message, offset } = error as ExpressionError;
    context.addIssue({ code: 'custom', message, params: { offset } });
    return z.NEVER;
  }
}

export const innerNodes = z
  .array(z.unknown(), { error: 'expected a list of nodes' })
  .min(1, 'expected at least one node')
  .describe('the nodes that each pass runs, written as at the top of the flow');

/** Like `innerNodes`, but for a node that asks its inner nodes one after the other. */
export const alternativeNodes = innerNodes
  .clone()
  .describe('the steps, each of them a node that gives exactly one row; every step starts from the record as it came in');

export const nodeLists: ReadonlySet<unknown> = new Set([innerNodes, alternativeNodes]);

export function fieldUses({ named, fields, ofRecord }: Expression<unknown>, at: FieldUse['at']): FieldUse[] {
  return named.map((field) => ({ field, at, isTested: !fields.includes(field), isOfRecord: ofRecord.has(field) }));
}

export function recordUses({ recordFields }: AnswerCondition, at: FieldUse['at']): FieldUse[] {
  const first = recordFields.filter(({ name }, index) => recordFields.findIndex((other) => other.name === name) === index);
  return first.map(({ name: field, written, isTested }) => ({ field, written, at, isTested }));
}
