import { compilePath } from '../../core/answer/path.ts';
import type { Problem } from '../../core/failure.ts';
import { foreignReferences, isReferable, nearReferences, referable, shellVariableAdvice } from '../../core/template/template.ts';
import { orUndefined } from '../../core/value/value.ts';
import type { At, Source } from '../source.ts';

/** Returns a warning for each text in the flow that looks like a reference such as `{{field}}` but is not one. */
export function nearReferenceWarnings(source: Source): Problem[] {
  const warnings: Problem[] = [];
  visit(source.value, []);
  return warnings;

  function visit(value: unknown, at: At): void {
    if (typeof value === 'string') {
      for (const text of nearReferences(value)) warnings.push(source.at(at, nearWarning(text, value), text));
      if (at.at(-1) === 'url') for (const text of foreignReferences(value)) warnings.push(source.at(at, foreignWarning(text), text));
    }
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      const place = [...at, Array.isArray(value) ? Number(name) : name];
      if (at.includes('body') || at.includes('form'))
        for (const text of nearReferences(name)) warnings.push(source.atName(place, nearWarning(text, name)));
      visit(member, place);
    }
  }
}

function nearWarning(text: string, around: string): string {
  if (!text.endsWith('}}'))
    return `${text} is not a reference and stays text; a reference ends with two braces\nwrite ${text.replace(/\}$/, '')}}}`;
  const inside = text.slice(2, -2).trim();
  if (/^vars\.[A-Za-z_]\w*$/.test(inside))
    return `${text} is not a reference and stays text; there can be no spaces between the braces\nwrite {{${inside}}}`;
  const name = withoutPrefix(inside);
  const equals = around.startsWith('=') && name !== inside ? ', and no = in front' : '';
  const wayOut = isReferable(name) ? `${name === inside ? 'drop the spaces:' : 'write'} {{${name}}}${equals}` : waysOut(name);
  return `${text} is not a reference and stays text; a name can contain only letters, digits and underscores\n${wayOut}`;
}

function foreignWarning(text: string): string {
  const shell = /^\$\{[A-Z]/.test(text) ? shellVariableAdvice(text) : '';
  return `${text} is not a reference and stays text; a reference has two braces${shell}\n${shell === '' ? '' : 'or, for a field of the record, '}write {{${text.replace(/[^\p{L}\p{M}\p{N}_]/gu, '')}}}`;
}

/** Removes the prefix of a field name in other tools, such as `$json.` or `.`. */
function withoutPrefix(inside: string): string {
  return inside.replace(/^(?:\$json)?\.(?=.)/, '').replace(/^\$json\[(["'])(.*)\1\]$/s, '$2');
}

/** Returns the advice to rename a field whose name cannot be written in a reference. `to`: the new name. */
export function renaming(name: string, to = referable(name)): string {
  return `rename the field with a set node first: rename: { ${JSON.stringify(name)}: ${to} }`;
}

/** Returns advice for a name in braces that cannot be a field reference, with the most likely advice first. */
function waysOut(name: string): string {
  const better = referable(name);
  if (better === '') return 'write the name of a field between the braces';
  const rename = renaming(name);
  if (!/[.[]/.test(name) || !orUndefined(() => compilePath(name))) return rename;
  // Mentions `map`, because a map that is a list of paths uses each path as a field's name.
  const ways = [`if a map adds it, rename it there: map: { ${better}: ${JSON.stringify(name)} }`, `if a column has this name, ${rename}`];
  return [...(isInsideField.test(name) ? [takingOut(name, better)] : []), ...ways].join('\n');
}

/** Matches a path such as `nested.k` that is also a valid CEL expression. */
const isInsideField = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d+\])+$/;

function takingOut(path: string, better: string): string {
  return `if it is a value inside a field, take it out with a set node first: fields: { ${better}: { cel: ${JSON.stringify(path)} } }`;
}
