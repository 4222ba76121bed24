import * as z from 'zod';
import { compilePath } from '../answer/path.ts';
import { type AnswerVariable, compileAnswerCondition, compileCondition, compileExpression } from '../condition/condition.ts';
import type { ExpressionError } from '../condition/expression-error.ts';

/** A path into an answer. It stays text here: the map that holds it compiles it. */
export const path = z.string().superRefine((text, context) => {
  try {
    compilePath(text);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

/** A CEL expression that is true or false. Without quotes YAML reads the simplest ones as booleans. */
export const condition = z
  .union([z.string(), z.boolean()], { error: 'expected a CEL expression such as status == "done"' })
  .transform((written, context) => compiledIn(() => compileCondition(String(written)), context));

/** A CEL expression over an answer that is true or false. */
export function answerCondition(variables: readonly AnswerVariable[]) {
  return z
    .union([z.string(), z.boolean()], { error: 'expected a CEL expression such as has(body.errors)' })
    .transform((written, context) => compiledIn(() => compileAnswerCondition(String(written), variables), context));
}

/** A CEL expression that gives a value. */
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

/** The nodes inside a node. */
export const innerNodes = z
  .array(z.unknown(), { error: 'expected a list of nodes' })
  .min(1, 'expected at least one node')
  .describe('the nodes inside, each as anywhere else');
